package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

// ErrNoModel is returned if no language model is configured.
var ErrNoModel = errors.New("none is configured")

// NeedsDetail is the detail of an error with what the caller would have to offer: "elicitation",
// "elicitation.url", "sampling" or "roots".
const NeedsDetail = "needs"

type asking struct {
	mu      sync.Mutex
	given   map[string]tool.Answer         // by a model, during this call
	pending map[string]*tool.InputRequired // as they were asked
	order   []string                       // of their keys
	failed  map[string]error               // errors of models that did not answer
	// connects are connections that the user is asked about after the call.
	connects []string
}

// Ask answers a question from the request or by the configured model; otherwise the face must ask it.
func (s *services) Ask(ctx context.Context, key string, form tool.Form) (tool.Answer, error) {
	if answer, ok := s.answered(key); ok {
		return answer, CheckAnswer(form, answer)
	}
	switch {
	case form.Sample != nil:
		return s.askModel(ctx, key, form)
	case form.Roots:
		if s.call.request.CanRoots {
			return tool.Answer{}, s.addQuestion(key, form)
		}
		return tool.Answer{}, tool.Errorf(tool.Unavailable,
			"%s needs to know which directories the client works in, and this client does not tell",
			s.call.outcome.Tool).
			Suggest("Call it from an MCP client that offers roots.").With(NeedsDetail, "roots")
	case form.URL != "":
		if s.call.request.CanVisit {
			return tool.Answer{}, s.addQuestion(key, form)
		}
		return tool.Answer{}, tool.Errorf(tool.Unavailable,
			"%s needs the user to visit a page, and this client cannot show its address: %s", s.call.outcome.Tool,
			form.Message).
			Suggest("Call it from an MCP client with elicitation of URLs, or on a terminal: toolhost call.").With(NeedsDetail,
			"elicitation.url")
	case s.call.request.CanAsk:
		return tool.Answer{}, s.addQuestion(key, form)
	}
	return tool.Answer{}, tool.Errorf(tool.Unavailable, "%s has a question and no one is there to ask: %s",
		s.call.outcome.Tool, form.Message).
		Suggest("Call it where a user can answer: on a terminal, or from an MCP client with elicitation.").With(NeedsDetail, "elicitation")
}

// CheckAnswer refuses an answer that its form does not allow. The error says what would be valid.
func CheckAnswer(form tool.Form, answer tool.Answer) error {
	if len(form.Schema) == 0 || !answer.Accepted() {
		return nil
	}
	compiled, err := schema.Compile(form.Schema)
	if err != nil {
		return tool.Errorf(tool.Internal, "the form of the question cannot be read: %w",
			err).Suggest("Tell the author of the tool.")
	}
	content := answer.Content
	if len(content) == 0 {
		content = json.RawMessage(`{}`)
	}
	if _, _, violations := compiled.Decode(content); len(violations) > 0 {
		return tool.Errorf(tool.InvalidArgument, "the answer to %q does not fit the form: %s", form.Message,
			violations[0]).
			Suggest("Nothing was run. The answer needs %s. If the client did not show these fields, it cannot draw "+
				"this form: make the call on a terminal (toolhost call), or from another client.", fieldsOf(form.Schema))
	}
	return nil
}

func fieldsOf(form json.RawMessage) string {
	var shape struct {
		Properties map[string]struct {
			Type  string   `json:"type"`
			Enum  []string `json:"enum"`
			OneOf []struct {
				Const string `json:"const"`
			} `json:"oneOf"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(form, &shape)
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(shape.Properties)) {
		p := shape.Properties[name]
		kind := cmp.Or(p.Type, "any value")
		for _, choice := range p.OneOf {
			p.Enum = append(p.Enum, choice.Const)
		}
		if len(p.Enum) > 0 {
			kind = "one of " + strings.Join(p.Enum, ", ")
		}
		if !slices.Contains(shape.Required, name) {
			kind += ", optional"
		}
		fields = append(fields, name+" ("+kind+")")
	}
	return strings.Join(fields, ", ")
}

func (s *services) answered(key string) (tool.Answer, bool) {
	if key == ApprovalKey {
		return tool.Answer{}, false
	}
	if answer, ok := s.call.request.Answers[key]; ok {
		return answer, true
	}
	s.call.asking.mu.Lock()
	defer s.call.asking.mu.Unlock()
	answer, ok := s.call.asking.given[key]
	return answer, ok
}

// addQuestion notes a question and returns the error that passes it to the face.
func (s *services) addQuestion(key string, form tool.Form) error {
	question := &tool.InputRequired{Key: key, Form: form}
	s.call.asking.mu.Lock()
	defer s.call.asking.mu.Unlock()
	if s.call.asking.pending == nil {
		s.call.asking.pending = make(map[string]*tool.InputRequired)
	}
	if s.call.asking.pending[key] == nil {
		s.call.asking.order = append(s.call.asking.order, key)
	}
	s.call.asking.pending[key] = question
	return question
}

// question returns a tool's question as it was asked: a plugin's protocol omits parts of it, and the questions
// asked with it.
func (c *call) question(q *tool.InputRequired) *tool.InputRequired {
	c.asking.mu.Lock()
	defer c.asking.mu.Unlock()
	own, ok := c.asking.pending[q.Key]
	if !ok || len(q.Also) > 0 {
		return q
	}
	all := *own
	for _, key := range c.asking.order {
		if key != q.Key {
			all.Also = append(all.Also, c.asking.pending[key])
		}
	}
	return &all
}

// given returns the answers of the configured model.
func (c *call) given() map[string]tool.Answer {
	c.asking.mu.Lock()
	defer c.asking.mu.Unlock()
	return maps.Clone(c.asking.given)
}

// addAnswers adds the answers to the parameters of the decision: an approval is for these answers only.
func (c *call) addAnswers(ctx context.Context, p *Proposal) error {
	answerer, ok := c.entry.Tool.(tool.Answerer)
	if !ok {
		return nil
	}
	answers, err := guard(c.entry.Name, func() (map[string]any, error) { return answerer.Answers(ctx, &c.tool) })
	if err != nil || len(answers) == 0 {
		return err
	}
	all := make(map[string]json.RawMessage)
	if err := json.Unmarshal(p.Params, &all); err != nil {
		return err
	}
	for name, value := range answers {
		all[name] = tool.MustMarshal(value) // no parameter has a dot in its name
	}
	p.Params = tool.MustMarshal(all)
	return nil
}

// WithoutAnswers splits the parameters of an approval into those of the call and the answers.
func WithoutAnswers(params json.RawMessage) (json.RawMessage, map[string]tool.Answer) {
	var all map[string]json.RawMessage
	if json.Unmarshal(params, &all) != nil {
		return params, nil
	}
	content := make(map[string]map[string]json.RawMessage)
	for name, value := range all {
		rest, ok := strings.CutPrefix(name, "ask.")
		if !ok {
			continue
		}
		key, field, _ := strings.Cut(rest, ".")
		if content[key] == nil {
			content[key] = make(map[string]json.RawMessage)
		}
		content[key][field] = value
		delete(all, name)
	}
	answers := make(map[string]tool.Answer)
	for key, fields := range content {
		answers[key] = tool.Answer{Action: "accept", Content: tool.MustMarshal(fields)}
	}
	return tool.MustMarshal(all), answers
}

// askModel asks a model once in a call, although each step repeats the tool's questions.
func (s *services) askModel(ctx context.Context, key string, form tool.Form) (tool.Answer, error) {
	a := &s.call.asking
	a.mu.Lock()
	before := a.failed[key]
	a.mu.Unlock()
	if before != nil {
		return tool.Answer{}, before
	}
	response, err := s.sample(ctx, key, *form.Sample)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		if a.failed == nil {
			a.failed = make(map[string]error)
		}
		a.failed[key] = err
		return tool.Answer{}, err
	}
	if a.given == nil {
		a.given = make(map[string]tool.Answer)
	}
	a.given[key] = tool.Answer{Action: "accept", Content: tool.MustMarshal(response)}
	return a.given[key], nil
}

// Sample asks the configured model, or else the caller's: at once if possible, otherwise by a question of the
// face.
func (s *services) Sample(ctx context.Context, request tool.SampleRequest) (*tool.SampleResponse, error) {
	sum := sha256.Sum256(tool.MustMarshal(request))
	key := "sample-" + base64.RawURLEncoding.EncodeToString(sum[:9])
	if answer, ok := s.answered(key); ok {
		return readSample(answer)
	}
	return s.sample(ctx, key, request)
}

func (s *services) sample(ctx context.Context, key string, request tool.SampleRequest) (*tool.SampleResponse, error) {
	request = *s.call.host.redact.redactor.Load().sample(request)
	if own := s.call.host.options.Sample; own != nil {
		response, err := own(ctx, request)
		if !errors.Is(err, ErrNoModel) {
			return response, err
		}
	}
	switch {
	case s.call.request.Sample != nil:
		return s.call.request.Sample(ctx, request)
	case s.call.request.CanSample:
		return nil, s.addQuestion(key, tool.Form{Message: request.Prompt, Sample: &request})
	}
	return nil, tool.Errorf(tool.Unavailable, "there is no language model to ask: %w", ErrNoModel).
		Suggest(`Ask the user to add a model block to agent.hcl (model { url = "...", model = "...", key = `+
			`env("...") }), or use a client that offers sampling.`).
		With(NeedsDetail, "sampling")
}

// readSample parses a model's answer that came through the face.
func readSample(answer tool.Answer) (*tool.SampleResponse, error) {
	var response tool.SampleResponse
	if !answer.Accepted() {
		return nil, tool.Errorf(tool.Denied,
			"the client did not let its model answer").Suggest("Do it without a model, or ask the user.")
	}
	if err := json.Unmarshal(answer.Content, &response); err != nil {
		return nil, tool.Errorf(tool.Unavailable, "the model's answer cannot be read: %w", err).Suggest("Call again.")
	}
	return &response, nil
}
