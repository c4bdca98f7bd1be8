package mcpserve

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
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
	ID      string                 `json:"id,omitempty"`
	Step    int                    `json:"step,omitempty"`
	Call    string                 `json:"call"` // digest of tool, arguments and session
	Key     string                 `json:"key"`  // the open question
	Form    json.RawMessage        `json:"form,omitempty"`
	Before  map[string]tool.Answer `json:"before,omitempty"`
	Expires int64                  `json:"expires"`

	answers map[string]tool.Answer
}

// canAsk reports whether the client can put a form to its user. One that
// names no mode means forms.
func canAsk(request *mcp.CallToolRequest) bool {
	params := request.Session.InitializeParams()
	if params == nil || params.Capabilities == nil || params.Capabilities.Elicitation == nil {
		return false
	}
	e := params.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil
}

// isStateless reports whether a session is of a revision that knows no
// requests from the server to the client.
func isStateless(session *mcp.ServerSession) bool {
	params := session.InitializeParams()
	return params == nil || params.ProtocolVersion >= statelessRevision
}

// ask makes the input-required result for the question of an outcome.
func (s *Server) ask(link *link, request *mcp.CallToolRequest, before asked, outcome *host.Outcome) (*mcp.CallToolResult, error) {
	form := formOf(request, outcome)
	state := asked{
		ID: outcome.RequestID, Step: outcome.Step,
		Call: digest(link, request), Key: outcome.Input.Key, Before: before.answers,
		Expires: time.Now().Add(s.options.AskTimeout).Unix(),
	}
	if !host.IsApproval(outcome.Input) {
		state.Form = outcome.Input.Form.Schema
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{outcome.Input.Key: form},
		RequestState:  s.sign(state),
	}, nil
}

// elicit puts the question of an outcome to the user of a client of an older
// revision, and waits for the answer.
func (s *Server) elicit(ctx context.Context, request *mcp.CallToolRequest, before asked, outcome *host.Outcome) (asked, error) {
	waiting, cancel := context.WithTimeout(ctx, s.options.AskTimeout)
	defer cancel()
	response, err := request.Session.Elicit(waiting, formOf(request, outcome))
	switch {
	case ctx.Err() != nil:
		return asked{}, tool.Errorf(tool.Cancelled, "the call of %s was cancelled at the question", outcome.Tool).Suggest("Nothing was run.")
	case waiting.Err() != nil:
		return asked{}, tool.Errorf(tool.Denied, "the user did not answer within %s: %s", s.options.AskTimeout, outcome.Input.Form.Message).
			Suggest("Nothing was run. Call again when the user is there to answer.")
	case err != nil:
		return asked{}, tool.Errorf(tool.Unavailable, "the client could not ask the user: %w", err).
			Suggest("Nothing was run. Ask the user to allow the call with a policy rule in agent.hcl, or use another client.")
	}
	next := asked{ID: outcome.RequestID, Step: outcome.Step, answers: make(map[string]tool.Answer)}
	maps.Copy(next.answers, before.answers)
	next.answers[outcome.Input.Key] = answer(outcome.Input.Key, response)
	return next, nil
}

// formOf is the question of an outcome as MCP's elicitation.
func formOf(request *mcp.CallToolRequest, outcome *host.Outcome) *mcp.ElicitParams {
	schema := outcome.Input.Form.Schema
	if host.IsApproval(outcome.Input) {
		schema = json.RawMessage(`{"type":"object","properties":{"always":{"type":"boolean","title":"Always allow exactly this call","default":false}}}`)
	}
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return &mcp.ElicitParams{Mode: "form", Message: question(request, outcome), RequestedSchema: schema}
}

// question is the text that the user sees, with the plan for an approval.
func question(request *mcp.CallToolRequest, outcome *host.Outcome) string {
	text := outcome.Input.Form.Message
	if host.IsApproval(outcome.Input) {
		text += "\n\nParameters: " + cut(policy.CanonicalJSON(request.Params.Arguments))
	}
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
	return strings.ToValidUTF8(text[:mostShown], "") + fmt.Sprintf("\n[%d more bytes are not shown]", len(text)-mostShown)
}

// resume reads the answers that a request carries.
func (s *Server) resume(link *link, request *mcp.CallToolRequest) (asked, error) {
	if request.Params.RequestState == "" {
		return asked{}, nil
	}
	state, ok := s.verify(request.Params.RequestState)
	if !ok || state.Call != digest(link, request) || time.Now().Unix() > state.Expires {
		return asked{}, tool.Errorf(tool.Denied, "the answer does not belong to a question that is open for this call").
			Suggest("Call the tool again without requestState and answer the new question.")
	}
	state.answers = state.Before
	if state.answers == nil {
		state.answers = make(map[string]tool.Answer)
	}
	response, _ := request.Params.InputResponses[state.Key].(*mcp.ElicitResult)
	if response == nil {
		return asked{}, tool.Errorf(tool.InvalidArgument, "inputResponses has no answer to %q", state.Key).
			Suggest("Answer every entry of inputRequests.")
	}
	state.answers[state.Key] = answer(state.Key, response)
	return state, checkAnswer(state.Form, state.answers[state.Key])
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

// answer turns an elicitation's result into the host's form.
func answer(key string, response *mcp.ElicitResult) tool.Answer {
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
	_ = json.Unmarshal(input.Form.Schema, &form)
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
func digest(link *link, request *mcp.CallToolRequest) string {
	sum := sha256.New()
	for _, part := range []string{link.session.Name(), request.Params.Name, policy.CanonicalJSON(request.Params.Arguments)} {
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
