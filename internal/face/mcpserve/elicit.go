package mcpserve

//lint:file-ignore SA1019 Clients that still have sampling, roots and logging are served.

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Approvals and a tool's questions go to the user. A client of the newest revision gets an
// input-required result and calls again with the answer; questions and answers so far travel in
// requestState, signed, so that an answer serves no other question or call. Older clients get an
// elicitation for each question.

// asked is the state of a call's questions.
type asked struct {
	ID      string                 `json:"id,omitempty"`
	Step    int                    `json:"step,omitempty"`
	Call    string                 `json:"call"` // digest of tool, arguments and session
	Open    map[string]tool.Form   `json:"open"`
	Before  map[string]tool.Answer `json:"before,omitempty"`
	Put     int64                  `json:"put"` // when, in milliseconds
	Expires int64                  `json:"expires"`
	// Nonce allows one run.
	Nonce string `json:"nonce"`

	answers map[string]tool.Answer
}

func (s *Server) ask(conn *conn, in *requestInfo, request host.Request, outcome *host.Outcome, nonce string) *open {
	next := outcome.Again(request, nil)
	state := asked{
		ID: next.ID, Step: next.Step,
		Call: digest(conn, in), Open: make(map[string]tool.Form), Before: next.Answers,
		Put: time.Now().UnixMilli(), Expires: time.Now().Add(s.options.AskTimeout).Unix(), Nonce: nonce,
	}
	requests := make(mcp.InputRequestMap)
	for _, q := range questions(outcome.Input) {
		switch {
		case q.Form.Sample != nil:
			requests[q.Key] = sampling(*q.Form.Sample)
		case q.Form.Roots:
			requests[q.Key] = &mcp.ListRootsParams{}
		default:
			requests[q.Key] = s.formOf(in, outcome, q)
		}
		state.Open[q.Key] = tool.Form{Message: truncate.Shorten(q.Form.Message, mostNamed), Schema: q.Form.Schema}
	}
	body := tool.MustMarshal(state)
	return &open{requests, base64.RawURLEncoding.EncodeToString(body) + "." + base64.RawURLEncoding.EncodeToString(s.mac(body))}
}

// mostNamed bounds the part of a question's text kept in a state, in bytes.
const mostNamed = 200

// questions returns all questions that can be answered together.
func questions(input *tool.InputRequired) []*tool.InputRequired {
	return append([]*tool.InputRequired{input}, input.Also...)
}

// askEach asks an older client one question after the other and waits for the answers.
func (s *Server) askEach(ctx context.Context, in *requestInfo, outcome *host.Outcome) (map[string]tool.Answer, error) {
	waiting, cancel := context.WithTimeout(ctx, s.options.AskTimeout)
	defer cancel()
	given := make(map[string]tool.Answer)
	for _, q := range questions(outcome.Input) {
		began := time.Now()
		response, err := s.elicit(waiting, in, outcome, q)
		switch {
		case ctx.Err() != nil:
			return nil, tool.Errorf(tool.Cancelled, "the call of %s was cancelled at the question",
				outcome.Tool).Suggest("Nothing was run.")
		case err != nil && host.IsApproval(q):
			given[q.Key] = host.Undecided(s.unanswered(waiting, err))
		case waiting.Err() != nil:
			return nil, tool.Errorf(tool.Denied, "%s: %s", s.unanswered(waiting, err), q.Form.Message).
				Suggest("Nothing was run. Call again when the user is there to answer.")
		case err != nil:
			return nil, unasked(q, err)
		default:
			given[q.Key] = answer(q.Key, response, time.Since(began))
			if host.IsApproval(q) && in.needsText() && host.Refuses(given[q.Key]) {
				given[q.Key] = host.Approval(host.Refuse, s.askWhy(waiting, in, outcome))
			}
		}
	}
	return given, nil
}

// askNow asks a question of the host's own during the call.
func (s *Server) askNow(ctx context.Context, in *requestInfo, form tool.Form) (tool.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.AskTimeout)
	defer cancel()
	began := time.Now()
	response, err := in.session.Elicit(ctx,
		&mcp.ElicitParams{Mode: "form", Message: show.Text(form.Message), RequestedSchema: form.Schema})
	if err != nil {
		return host.Undecided(s.unanswered(ctx, err)), nil
	}
	return answer(host.ApprovalKey, response, time.Since(began)), nil
}

func (s *Server) unanswered(waiting context.Context, err error) string {
	switch {
	case waiting.Err() != nil:
		return s.tooLate()
	case tool.CodeOf(err) == tool.InvalidArgument:
		return "the answer chose nothing"
	}
	return fmt.Sprintf("the client could not ask the user (%v)", err)
}

func (s *Server) tooLate() string {
	return fmt.Sprintf("the user did not answer within %s", s.options.AskTimeout)
}

// checkElicited checks a form's answer before the SDK does, whose error names neither the question nor
// a valid answer.
func checkElicited(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, request)
		given, ok := result.(*mcp.ElicitResult)
		if err != nil || !ok {
			return result, err
		}
		params, ok := request.GetParams().(*mcp.ElicitParams)
		if !ok || params.RequestedSchema == nil {
			return result, nil
		}
		answer := tool.Answer{Action: given.Action, Content: tool.MustMarshal(given.Content)}
		if given.Content == nil {
			answer.Content = nil
		}
		form := tool.Form{Message: truncate.Shorten(params.Message, mostNamed),
			Schema: tool.MustMarshal(params.RequestedSchema)}
		if err := host.CheckAnswer(form, answer); err != nil {
			return nil, err
		}
		return result, nil
	}
}

// unasked returns the error for a tool's question that the client answered invalidly or with an error.
func unasked(q *tool.InputRequired, err error) *tool.Error {
	if own, ok := errors.AsType[*tool.Error](err); ok {
		return own
	}
	return tool.Errorf(tool.Unavailable, "the client could not ask the user %q: %w", q.Form.Message, err).
		Suggest("Nothing was run. Tell the user what was asked, and call again when the client can ask.")
}

// askWhy asks a user who refused for a message to the agent; "" if none.
func (s *Server) askWhy(ctx context.Context, in *requestInfo, outcome *host.Outcome) string {
	message := outcome.Question().Headline() + "\nIt will not run. What is the agent told? Cancel to say nothing."
	response, err := in.session.Elicit(ctx,
		&mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: host.ReasonForm})
	if err != nil || response.Action != "accept" {
		return ""
	}
	reason, _ := response.Content["reason"].(string)
	return reason
}

// elicit sends one question to a client that takes requests.
func (s *Server) elicit(ctx context.Context, in *requestInfo, outcome *host.Outcome, q *tool.InputRequired) (mcp.InputResponse,
	error) {
	if q.Form.Roots {
		return in.session.ListRoots(ctx, &mcp.ListRootsParams{})
	}
	return in.session.Elicit(ctx, s.formOf(in, outcome, q))
}

func (s *Server) formOf(in *requestInfo, outcome *host.Outcome, q *tool.InputRequired) *mcp.ElicitParams {
	if q.Form.URL != "" {
		return &mcp.ElicitParams{Mode: "url", Message: show.Text(q.Form.Message), URL: q.Form.URL,
			ElicitationID: rand.Text()}
	}
	schema := q.Form.Schema
	switch {
	case host.IsApproval(q) && in.needsText():
		schema = host.DecisionForm
	case len(schema) == 0:
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return &mcp.ElicitParams{Mode: "form", Message: s.question(outcome, q), RequestedSchema: schema}
}

// question returns the text for the user; for an approval the whole call.
func (s *Server) question(outcome *host.Outcome, q *tool.InputRequired) string {
	if !host.IsApproval(q) {
		return show.Text(q.Form.Message)
	}
	return outcome.Question().Text(show.Width, mostShown, s.options.KeepQuestion)
}

// mostShown bounds an approval question, in bytes; a longer one goes to a file.
const mostShown = 16 << 10

// resume reads the answers in a request; open questions are asked again. Answers without a state are
// kept for the tool's questions, but never count as approval.
func (s *Server) resume(conn *conn, in *requestInfo) (asked, error) {
	if in.state == "" {
		return asked{answers: answers(in.responses, 0, func(key string) bool { return key != host.ApprovalKey })}, nil
	}
	state, ok := s.verify(in.state)
	if !ok || state.Call != digest(conn, in) {
		return asked{}, notOpen()
	}
	state.answers = make(map[string]tool.Answer)
	maps.Copy(state.answers, state.Before)
	if time.Now().Unix() > state.Expires {
		if _, open := state.Open[host.ApprovalKey]; !open {
			return asked{}, notOpen()
		}
		state.answers[host.ApprovalKey] = host.Undecided(s.tooLate())
		return state, nil
	}
	took := time.Since(time.UnixMilli(state.Put))
	given := answers(in.responses, took, func(key string) bool {
		_, open := state.Open[key]
		return open
	})
	maps.Copy(state.answers, given)
	for key, form := range state.Open {
		if key == host.ApprovalKey {
			continue // an empty choice is an answer to it
		}
		if err := host.CheckAnswer(form, state.answers[key]); err != nil {
			return asked{}, err
		}
	}
	if _, decided := state.answers[host.ApprovalKey]; decided {
		s.pending.end(state.Call)
	}
	if len(given) > 0 && !s.spent.spend(state.Nonce, time.Unix(state.Expires, 0)) {
		return asked{}, notOpen()
	}
	return state, nil
}

func notOpen() *tool.Error {
	return tool.Errorf(tool.Denied, "the answer does not belong to a question that is open for this call").
		Suggest("Call again without requestState and answer the new question.")
}

// spent holds the answered states until they expire: an answer is good for one run.
type spent struct {
	mu    sync.Mutex
	until map[string]time.Time
	sweep int // size at which to remove expired ones
}

// spend reports whether the state is used for the first time.
func (s *spent) spend(nonce string, expires time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = make(map[string]time.Time)
	}
	if _, used := s.until[nonce]; used {
		return false
	}
	if len(s.until) >= s.sweep {
		now := time.Now().Add(-time.Second) // expiry counts whole seconds
		maps.DeleteFunc(s.until, func(_ string, until time.Time) bool { return until.Before(now) })
		s.sweep = 2*len(s.until) + 100
	}
	s.until[nonce] = expires
	return true
}

// answers reads the responses that count; took is the time since the question.
func answers(responses mcp.InputResponseMap, took time.Duration, counts func(key string) bool) map[string]tool.Answer {
	given := make(map[string]tool.Answer)
	for key, response := range responses {
		if counts(key) {
			given[key] = answer(key, response, took)
		}
	}
	return given
}

// answer converts a client's response.
func answer(key string, response mcp.InputResponse, took time.Duration) tool.Answer {
	switch r := response.(type) {
	case *mcp.CreateMessageWithToolsResult:
		return tool.Answer{Action: "accept",
			Content: tool.MustMarshal(tool.SampleResponse{Text: textOf(r.Content), Model: r.Model})}
	case *mcp.ListRootsResult:
		roots := tool.Roots{Roots: []tool.Root{}}
		for _, root := range r.Roots {
			roots.Roots = append(roots.Roots, tool.Root{URI: root.URI, Name: root.Name})
		}
		return tool.Answer{Action: "accept", Content: tool.MustMarshal(roots)}
	case *mcp.ElicitResult:
		return elicited(key, r, took)
	}
	return tool.Answer{Action: "cancel"}
}

// reading is the least time in which a user reads and answers. Clients without a user decline at once.
const reading = time.Second

func elicited(key string, response *mcp.ElicitResult, took time.Duration) tool.Answer {
	if key == host.ApprovalKey {
		switch {
		case response.Action == "cancel":
			return host.Undecided("the question was closed without an answer")
		case response.Action == "decline" && took < reading:
			return host.Undecided("the client declined at once, before anybody could read the question")
		}
	}
	a := tool.Answer{Action: response.Action}
	switch {
	case response.Action != "accept" && took < reading:
		a.Content = tool.MustMarshal(map[string]string{
			"reason": "the client closed it at once, before anybody could read it"})
	case response.Content != nil:
		a.Content = tool.MustMarshal(response.Content)
	}
	return a
}

// asksForSecret reports whether a form asks for a secret, which the client would show and keep.
func asksForSecret(input *tool.InputRequired) bool {
	var form struct {
		Properties map[string]struct {
			Title  string `json:"title"`
			Format string `json:"format"`
		} `json:"properties"`
	}
	for _, q := range questions(input) {
		_ = json.Unmarshal(q.Form.Schema, &form)
		if schema.SecretsOf(q.Form.Schema) != nil {
			return true
		}
	}
	for name, field := range form.Properties {
		if field.Format == "password" || namesSecret(name) || namesSecret(field.Title) {
			return true
		}
	}
	return false
}

func namesSecret(name string) bool {
	plain := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
	for _, word := range []string{"password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey",
		"accesstoken", "authtoken", "credential", "cvv"} {
		if strings.Contains(plain, word) {
			return true
		}
	}
	return plain == "token" || plain == "pin" || plain == "pat"
}

// digest binds a question to its tool, arguments and session.
func digest(conn *conn, in *requestInfo) string {
	sum := sha256.New()
	for _, part := range []string{conn.session.Name(), in.method, in.name, policy.CanonicalJSON(in.arguments)} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
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
