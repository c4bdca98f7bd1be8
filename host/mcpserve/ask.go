package mcpserve

//lint:file-ignore SA1019 Clients that still have sampling, roots and logging are served.

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/excerpt"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
)

// Whether a call may run, and what a tool wants to know, is asked of the
// user. To clients of the newest revision a question goes out as an
// input-required result: the client calls again with the answer, and what has
// been asked and answered so far travels in requestState, signed, so that no
// answer can be given to a question that was not asked, or moved to another
// call. Clients of the older revisions are sent an elicitation for every
// question.

// asked is a call's questions so far.
type asked struct {
	ID      string                     `json:"id,omitempty"`
	Step    int                        `json:"step,omitempty"`
	Call    string                     `json:"call"` // digest of tool, arguments and session
	Open    map[string]json.RawMessage `json:"open"` // the open questions with their forms
	Before  map[string]tool.Answer     `json:"before,omitempty"`
	Expires int64                      `json:"expires"`

	answers map[string]tool.Answer
}

// ask gives the questions of an outcome as input requests.
func (s *Server) ask(link *link, in *inquiry, before asked, outcome *host.Outcome) *open {
	state := asked{
		ID: outcome.RequestID, Step: outcome.Step,
		Call: digest(link, in), Open: make(map[string]json.RawMessage), Before: known(before, outcome),
		Expires: time.Now().Add(s.options.AskTimeout).Unix(),
	}
	requests := make(mcp.InputRequestMap)
	for _, q := range questions(outcome.Input) {
		requests[q.Key] = requestOf(in, outcome, q)
		state.Open[q.Key] = nil
		if !host.IsApproval(q) {
			state.Open[q.Key] = q.Form.Schema
		}
	}
	return &open{requests, s.sign(state)}
}

// known are all answers so far.
func known(before asked, outcome *host.Outcome) map[string]tool.Answer {
	all := make(map[string]tool.Answer)
	maps.Copy(all, before.answers)
	maps.Copy(all, outcome.Answers)
	return all
}

// questions are all that can be answered at the same time.
func questions(input *tool.InputRequired) []*tool.InputRequired {
	return append([]*tool.InputRequired{input}, input.Also...)
}

func requestOf(in *inquiry, outcome *host.Outcome, q *tool.InputRequired) mcp.InputRequest {
	switch {
	case q.Form.Sample != nil:
		return sampling(*q.Form.Sample)
	case q.Form.Roots:
		return &mcp.ListRootsParams{}
	}
	return formOf(in, outcome, q)
}

// putNow puts the questions of an outcome to a client of an older revision,
// one after the other, and waits for the answers.
func (s *Server) putNow(ctx context.Context, in *inquiry, before asked, outcome *host.Outcome) (asked, error) {
	waiting, cancel := context.WithTimeout(ctx, s.options.AskTimeout)
	defer cancel()
	next := asked{ID: outcome.RequestID, Step: outcome.Step, answers: known(before, outcome)}
	for _, q := range questions(outcome.Input) {
		response, err := put(waiting, in, outcome, q)
		switch {
		case ctx.Err() != nil:
			return asked{}, tool.Errorf(tool.Cancelled, "the call of %s was cancelled at the question", outcome.Tool).Suggest("Nothing was run.")
		case waiting.Err() != nil:
			return asked{}, tool.Errorf(tool.Denied, "the user did not answer within %s: %s", s.options.AskTimeout, q.Form.Message).
				Suggest("Nothing was run. Call again when the user is there to answer.")
		case err != nil:
			return asked{}, unasked(q, err)
		}
		next.answers[q.Key] = answer(q.Key, response)
	}
	return next, nil
}

// unasked is the error for a question that the client answered with an error.
// What a tool wants to know, no rule of the policy tells it.
func unasked(q *tool.InputRequired, err error) *tool.Error {
	next := "Nothing was run. Tell the user what was asked, and call again when the client can ask."
	if host.IsApproval(q) {
		next = "Nothing was run. Ask the user to allow the call with a policy rule in agent.hcl, or use another client."
	}
	return tool.Errorf(tool.Unavailable, "the client could not ask the user %q: %w", q.Form.Message, err).Suggest("%s", next)
}

// put sends one question to a client that can be sent requests.
func put(ctx context.Context, in *inquiry, outcome *host.Outcome, q *tool.InputRequired) (mcp.InputResponse, error) {
	if q.Form.Roots {
		return in.session.ListRoots(ctx, &mcp.ListRootsParams{})
	}
	return in.session.Elicit(ctx, formOf(in, outcome, q))
}

// formOf is a question of an outcome as MCP's elicitation.
func formOf(in *inquiry, outcome *host.Outcome, q *tool.InputRequired) *mcp.ElicitParams {
	if q.Form.URL != "" {
		return &mcp.ElicitParams{Mode: "url", Message: q.Form.Message, URL: q.Form.URL, ElicitationID: rand.Text()}
	}
	schema := q.Form.Schema
	if host.IsApproval(q) {
		schema = json.RawMessage(`{"type":"object","properties":{"always":{"type":"boolean","title":"Always allow exactly this call","default":false}}}`)
	}
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return &mcp.ElicitParams{Mode: "form", Message: question(in, outcome, q), RequestedSchema: schema}
}

// question is the text that the user sees, with the plan for an approval.
func question(in *inquiry, outcome *host.Outcome, q *tool.InputRequired) string {
	text := q.Form.Message
	if !host.IsApproval(q) {
		return text
	}
	text += "\n\nParameters: " + cut(policy.CanonicalJSON(in.arguments))
	if outcome.Plan == nil {
		return text
	}
	if len(outcome.Plan.FilesAffected) > 0 {
		text += "\n\nFiles affected: " + strings.Join(outcome.Plan.FilesAffected, ", ")
	}
	if outcome.Plan.Preview != "" {
		text += "\n\n" + cut(outcome.Plan.Preview)
	}
	return text
}

// mostShown bounds each part of a question, in bytes.
const mostShown = 16 << 10

// cut leaves out what a person would not read, and says so.
func cut(text string) string {
	if len(text) <= mostShown {
		return text
	}
	return excerpt.Head(text, mostShown) + fmt.Sprintf("\n[%d more bytes are not shown]", len(text)-mostShown)
}

// resume reads the answers that a request carries. Questions that it leaves
// open are put again. Without a state there are no questions that it could
// have answered; what it brings is taken for what a tool is going to ask, but
// never for an approval.
func (s *Server) resume(link *link, in *inquiry) (asked, error) {
	if in.state == "" {
		return asked{answers: answers(in.responses, func(key string) bool { return !host.IsApproval(&tool.InputRequired{Key: key}) })}, nil
	}
	state, ok := s.verify(in.state)
	if !ok || state.Call != digest(link, in) || time.Now().Unix() > state.Expires {
		return asked{}, tool.Errorf(tool.Denied, "the answer does not belong to a question that is open for this call").
			Suggest("Call again without requestState and answer the new question.")
	}
	state.answers = make(map[string]tool.Answer)
	maps.Copy(state.answers, state.Before)
	maps.Copy(state.answers, answers(in.responses, func(key string) bool {
		_, open := state.Open[key]
		return open
	}))
	for key, form := range state.Open {
		if err := checkAnswer(form, state.answers[key]); err != nil {
			return asked{}, err
		}
	}
	return state, nil
}

// answers reads the responses that count.
func answers(responses mcp.InputResponseMap, counts func(key string) bool) map[string]tool.Answer {
	given := make(map[string]tool.Answer)
	for key, response := range responses {
		if counts(key) {
			given[key] = answer(key, response)
		}
	}
	return given
}

// checkAnswer refuses an answer that does not fit its form.
func checkAnswer(form json.RawMessage, given tool.Answer) error {
	if len(form) == 0 || !given.Accepted() {
		return nil
	}
	compiled, err := schema.Compile(form)
	if err != nil {
		return err
	}
	if _, _, violations := compiled.Decode(given.Content); len(violations) > 0 {
		return tool.Errorf(tool.InvalidArgument, "the answer does not fit the form: %s", violations[0]).
			Suggest("Fill in the form as its schema says and answer again.")
	}
	return nil
}

// answer turns a client's response into the host's form.
func answer(key string, response mcp.InputResponse) tool.Answer {
	switch r := response.(type) {
	case *mcp.CreateMessageWithToolsResult:
		return tool.Answer{Action: "accept", Content: tool.MustMarshal(tool.SampleResponse{Text: textOf(r.Content), Model: r.Model})}
	case *mcp.ListRootsResult:
		return tool.Answer{Action: "accept", Content: tool.MustMarshal(rootsOf(r))}
	case *mcp.ElicitResult:
		return elicited(key, r)
	}
	return tool.Answer{Action: "cancel"}
}

func elicited(key string, response *mcp.ElicitResult) tool.Answer {
	if host.IsApproval(&tool.InputRequired{Key: key}) {
		always, _ := response.Content["always"].(bool)
		return host.Approval(response.Action == "accept", always)
	}
	a := tool.Answer{Action: response.Action}
	if response.Content != nil {
		a.Content = tool.MustMarshal(response.Content)
	}
	return a
}

// asksForSecret reports whether a form would have the user type a secret
// into the client, which keeps and shows what is typed there.
func asksForSecret(input *tool.InputRequired) bool {
	var form struct {
		Properties map[string]struct {
			Title     string `json:"title"`
			Format    string `json:"format"`
			WriteOnly bool   `json:"writeOnly"`
		} `json:"properties"`
	}
	for _, q := range questions(input) {
		_ = json.Unmarshal(q.Form.Schema, &form)
	}
	for name, field := range form.Properties {
		if field.WriteOnly || field.Format == "password" || namesSecret(name) || namesSecret(field.Title) {
			return true
		}
	}
	return false
}

// namesSecret reports whether a field's name says that it holds a secret.
func namesSecret(name string) bool {
	plain := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
	for _, word := range []string{"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey", "accesstoken", "authtoken", "credential", "cvv"} {
		if strings.Contains(plain, word) {
			return true
		}
	}
	return plain == "token" || plain == "pin" || plain == "pat"
}

func secretRefused(outcome *host.Outcome) *tool.Error {
	return tool.Errorf(tool.Blocked, "%s asks for a secret in a form, which is never shown: %s", outcome.Tool, outcome.Input.Form.Message).
		Suggest("Give the tool its secret through the environment: env(\"NAME\") in agent.hcl.")
}

// digest binds a question to its tool, arguments and session.
func digest(link *link, in *inquiry) string {
	sum := sha256.New()
	for _, part := range []string{link.session.Name(), in.method, in.name, policy.CanonicalJSON(in.arguments)} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

func (s *Server) sign(state asked) string {
	body := tool.MustMarshal(state)
	return base64.RawURLEncoding.EncodeToString(body) + "." + base64.RawURLEncoding.EncodeToString(s.mac(body))
}

func (s *Server) verify(text string) (asked, bool) {
	encoded, signature, _ := strings.Cut(text, ".")
	body, err1 := base64.RawURLEncoding.DecodeString(encoded)
	mac, err2 := base64.RawURLEncoding.DecodeString(signature)
	if err1 != nil || err2 != nil || !hmac.Equal(mac, s.mac(body)) {
		return asked{}, false
	}
	var state asked
	return state, json.Unmarshal(body, &state) == nil
}

func (s *Server) mac(body []byte) []byte {
	h := hmac.New(sha256.New, s.secret)
	h.Write(body)
	return h.Sum(nil)
}
