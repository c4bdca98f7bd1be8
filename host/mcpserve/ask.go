package mcpserve

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// A question to the user goes out as an input-required result, which the
// newest protocol revision has and which the SDK turns into an elicitation
// for the older ones. What has been asked and answered so far travels in
// requestState, signed, so that no answer can be given to a question that was
// not asked, or moved to another call.

// asked is a call's questions so far.
type asked struct {
	ID      string                 `json:"id,omitempty"`
	Step    int                    `json:"step,omitempty"`
	Call    string                 `json:"call"` // digest of tool, arguments and session
	Key     string                 `json:"key"`  // the open question
	Before  map[string]tool.Answer `json:"before,omitempty"`
	Expires int64                  `json:"expires"`

	answers map[string]tool.Answer
}

// canAsk reports whether the client can put a form to its user.
func canAsk(request *mcp.CallToolRequest) bool {
	params := request.Session.InitializeParams()
	return params != nil && params.Capabilities != nil && params.Capabilities.Elicitation != nil
}

// ask makes the input-required result for the question of an outcome.
func (s *Server) ask(link *link, request *mcp.CallToolRequest, before asked, outcome *host.Outcome) (*mcp.CallToolResult, error) {
	schema := outcome.Input.Form.Schema
	if host.IsApproval(outcome.Input) {
		schema = json.RawMessage(`{"type":"object","properties":{"always":{"type":"boolean","title":"Always allow exactly this call","default":false}}}`)
	}
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	state := asked{
		ID: outcome.RequestID, Step: outcome.Step,
		Call: digest(link, request), Key: outcome.Input.Key, Before: before.answers,
		Expires: time.Now().Add(askTimeout).Unix(),
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{outcome.Input.Key: &mcp.ElicitParams{
			Mode: "form", Message: question(outcome), RequestedSchema: schema,
		}},
		RequestState: s.sign(state),
	}, nil
}

// question is the text that the user sees, with the plan for an approval.
func question(outcome *host.Outcome) string {
	text := outcome.Input.Form.Message
	if outcome.Plan == nil {
		return text
	}
	if len(outcome.Plan.FilesAffected) > 0 {
		text += "\n\nFiles affected: " + strings.Join(outcome.Plan.FilesAffected, ", ")
	}
	if outcome.Plan.Preview != "" {
		text += "\n\n" + outcome.Plan.Preview
	}
	return text
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
	return state, nil
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

// digest binds a question to its tool, arguments and session.
func digest(link *link, request *mcp.CallToolRequest) string {
	sum := sha256.New()
	for _, part := range []string{link.session.Name(), request.Params.Name, string(request.Params.Arguments)} {
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
