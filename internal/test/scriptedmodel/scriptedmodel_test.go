package scriptedmodel_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/scriptedmodel"
)

const script = `{"server": "my-server", "steps": [
  {"tool": "head", "arguments": {"args": "-n 1"}, "result": "first line"},
  {"say": "Half way."},
  {"tool": "tail", "result": "last line"}
]}`

func newModel(t *testing.T) (*scriptedmodel.Model, *httptest.Server) {
	t.Helper()
	parsed, err := scriptedmodel.Parse([]byte(script))
	require.NoError(t, err)
	model := scriptedmodel.New(parsed)
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	return model, server
}

func post(t *testing.T, url, body string) string {
	t.Helper()
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(text))
	return string(text)
}

// conversations of each API: what a client sends before the first call, after
// its result, after the text, and after the second result. want is in each
// answer.
var conversations = map[string]struct {
	path string
	body string // %s is added to the conversation
	adds [4]string
	want [4]string
}{
	"messages": {
		"/v1/messages",
		`{"model": "m", "tools": [{"name": "head"}, {"name": "mcp__my-server__head"}, {"name": ` +
			`"mcp__my-server__tail"}], "messages": [{"role": "user", "content": "go"}%s]}`,
		[4]string{
			"",
			`,{"role": "assistant", "content": [{"type": "tool_use", "id": "call_step_0", "name": "x", "input": {}}]},
			  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_step_0", "content": [{"type": "text", "text": "the first line"}]}]}`,
			`,{"role": "assistant", "content": [{"type": "text", "text": "Half way."}]}, {"role": "user", "content": "on"}`,
			`,{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_step_2", "content": "the ` +
				`last line", "is_error": true}]}`,
		},
		[4]string{`"name":"mcp__my-server__head"`, `"Half way."`, `"name":"mcp__my-server__tail"`,
			"The script is over."},
	},
	"chat": {
		"/v1/chat/completions",
		`{"model": "m", "tools": [{"type": "function", "function": {"name": "my_server_head"}}, {"type": ` +
			`"function", "function": {"name": "tail"}}], "messages": [{"role": "user", "content": "go"}%s]}`,
		[4]string{
			"",
			`,{"role": "tool", "tool_call_id": "call_step_0", "content": "the first line"}`,
			`,{"role": "assistant", "content": "Half way."}, {"role": "user", "content": "on"}`,
			`,{"role": "tool", "tool_call_id": "call_step_2", "content": [{"type": "text", "text": "the last line"}]}`,
		},
		[4]string{`"name":"my_server_head"`, `"Half way."`, `"name":"tail"`, "The script is over."},
	},
	"responses": {
		"/v1/responses",
		`{"model": "m", "tools": [{"type": "function", "name": "my-head"}, {"type": "namespace", "name": "mcp__my_server",
		  "tools": [{"type": "function", "name": "head"}, {"type": "function", "name": "tail"}]}],
		  "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}%s]}`,
		[4]string{
			"",
			`,{"type": "function_call_output", "call_id": "call_step_0", "output": "the first line"}`,
			`,{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Half way."}]}`,
			`,{"type": "function_call_output", "call_id": "call_step_2", "output": [{"type": "input_text", "text": "the last line"}]}`,
		},
		[4]string{`"namespace":"mcp__my_server"`, `"Half way."`, `"name":"tail"`, "The script is over."},
	},
	"gemini": {
		"/v1beta/models/m:generateContent",
		`{"tools": [{"functionDeclarations": [{"name": "mcp_my-server_head"}, {"name": "mcp_my-server_tail"}]}], ` +
			`"contents": [{"role": "user", "parts": [{"text": "go"}]}%s]}`,
		[4]string{
			"",
			`,{"role": "user", "parts": [{"functionResponse": {"name": "mcp_my-server_head", "response": {"output": "the first line"}}}]}`,
			`,{"role": "model", "parts": [{"text": "Half way."}]}, {"role": "user", "parts": [{"text": "on"}]}`,
			`,{"role": "user", "parts": [{"functionResponse": {"name": "mcp_my-server_tail", "response": {"error": "the last line"}}}]}`,
		},
		[4]string{`"name":"mcp_my-server_head"`, `"Half way."`, `"name":"mcp_my-server_tail"`, "The script is over."},
	},
}

// TestScriptIsPlayed plays the script through each API, whole and streamed.
func TestScriptIsPlayed(t *testing.T) {
	for name, c := range conversations {
		for _, streamed := range []bool{false, true} {
			t.Run(name+map[bool]string{true: "/streamed", false: "/whole"}[streamed], func(t *testing.T) {
				model, server := newModel(t)
				var log bytes.Buffer
				model.Log = &log
				path, lead := c.path, "{"
				if streamed && name == "gemini" {
					path = strings.Replace(path, ":generateContent", ":streamGenerateContent?alt=sse", 1)
				} else if streamed {
					lead = `{"stream": true, `
				}
				said := ""
				for i, add := range c.adds {
					assert.Error(t, model.Check(), "the script is not over")
					said += add
					body := lead + strings.Replace(c.body, "%s", said, 1)[1:]
					for range 2 { // a client may repeat its request
						answer := post(t, server.URL+path, body)
						require.Contains(t, answer, c.want[i])
						requireJSON(t, answer, streamed)
					}
				}
				require.NoError(t, model.Check())
				require.Equal(t, name == "messages" || name == "gemini",
					strings.Contains(log.String(), `"failed":true`))
				require.Equal(t, 2, strings.Count(log.String(), `"event":"result"`), "each result once:\n%s",
					log.String())
			})
		}
	}
}

// requireJSON requires that an answer, or each event of it, is JSON.
func requireJSON(t *testing.T, answer string, streamed bool) {
	t.Helper()
	if !streamed {
		require.True(t, json.Valid([]byte(answer)), answer)
		return
	}
	for line := range strings.Lines(answer) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if ok && data != "[DONE]" {
			require.True(t, json.Valid([]byte(data)), line)
		}
	}
}

// Hidden tools are first found by the client's search.
func TestHiddenTools(t *testing.T) {
	search := `{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_search_0", "content": ` +
		`[{"type": "tool_reference", "tool_name": "mcp__my-server__head"}]}]}`
	claude := func(messages string) string {
		return `{"model": "m", "tools": [{"name": "ToolSearch"}, {"name": "mcp__my-server__head", "defer_loading": true}], "messages": [
			{"role": "user", "content": "Tools: mcp__my-server__header\nmcp__my-server__head\n"}` + messages + `]}`
	}
	model, server := newModel(t)
	answer := post(t, server.URL+"/v1/messages", claude(""))
	require.Contains(t, answer, `"name":"ToolSearch"`)
	require.Contains(t, answer, `"query":"select:mcp__my-server__head"`)
	require.Contains(t, post(t, server.URL+"/v1/messages", claude(","+search)), `"name":"mcp__my-server__head"`)
	require.Equal(t, []string{"tools", "search", "tools", "call"}, eventsOf(model))

	qwen := func(messages string) string {
		return `{"model": "m", "tools": [{"function": {"name": "tool_search"}}, {"function": {"name": "tool_call"}}], "messages": [
			{"role": "user", "content": "mcp__my-server__head: the first lines"}` + messages + `]}`
	}
	model, server = newModel(t)
	require.Contains(t, post(t, server.URL+"/v1/chat/completions", qwen("")), `"name":"tool_search"`)
	answer = post(t, server.URL+"/v1/chat/completions",
		qwen(`,{"role": "tool", "tool_call_id": "call_search_0", "content": "found"}`))
	require.Contains(t, answer, `"name":"tool_call"`)
	require.Contains(t, answer, `\"name\":\"mcp__my-server__head\",\"arguments\":{\"args\": \"-n 1\"}`)
	require.Equal(t, []string{"tools", "search", "call"}, eventsOf(model))
}

func eventsOf(model *scriptedmodel.Model) (events []string) {
	for _, r := range model.Records() {
		events = append(events, r.Event)
	}
	return events
}

func TestCheckNamesWhatIsMissing(t *testing.T) {
	model, server := newModel(t)
	path := server.URL + "/v1/chat/completions"
	require.Contains(t, post(t, path, `{"messages": [{"role": "user", "content": "a title, please"}]}`),
		`"content":"ok"`)
	require.Contains(t, post(t, path, `{"tools": [{"function": {"name": "bash"}}, {"function": {"name": "ahead"}}]}`),
		"No tool head is offered")
	require.ErrorContains(t, model.Check(),
		"step 0: no result of head reached the model: the client offered bash, ahead")
	post(t, path, `{"tools": [{"function": {"name": "head"}}], "messages": [{"role": "tool", "tool_call_id": `+
		`"call_step_0", "content": "other"}]}`)
	require.ErrorContains(t, model.Check(), `step 0: the result of head has no "first line"`+":\nother")
	require.ErrorContains(t, model.Check(), "step 2: no result of tail")
}

func TestOtherRequests(t *testing.T) {
	model, server := newModel(t)
	for path, want := range map[string]string{
		"/v1/messages/count_tokens": "input_tokens", "/v1beta/models/m:countTokens": "totalTokens",
		"/v1/models": "scripted",
	} {
		require.Contains(t, post(t, server.URL+path, "{}"), want)
	}
	response, err := http.Get(server.URL + "/v1/embeddings")
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusNotFound, response.StatusCode)
	require.Equal(t, []string{"unknown"}, eventsOf(model))
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                      "cannot be read",
		`{"steps": []}`:                          "no steps",
		`{"steps": [{"tool": "a", "say": "b"}]}`: "step 0",
		`{"steps": [{"tool": "a", "result": 1}]}`: "cannot be read",
		`{"steps": [{"tol": "a"}]}`:               "unknown field",
	} {
		_, err := scriptedmodel.Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}
