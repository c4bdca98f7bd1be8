package mcpserve_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserve"
	"github.com/toolhost/toolhost/host/tool"
)

const elicitation = `{"elicitation":{}}`

// dangerous is a host whose tool write needs approval, and how often it ran.
func dangerous(t *testing.T) (*host.Host, *int) {
	runs := new(int)
	write := newTool("write", tool.Dangerous, func(context.Context, *tool.Call) (*tool.Result, error) {
		*runs++
		return tool.Text("done"), nil
	})
	other := newTool("other", tool.Dangerous, write.call)
	write.def.Parameters = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}}}`)
	other.def.Parameters = write.def.Parameters
	return newHost(t, host.Options{Judge: func(context.Context, host.Proposal) host.Decision {
		return host.Decision{Action: host.Ask, Rule: "dangerous", Reason: "It is dangerous."}
	}}, write, other), runs
}

// question is an input-required result.
type question struct {
	ResultType    string                    `json:"resultType"`
	InputRequests map[string]map[string]any `json:"inputRequests"`
	RequestState  string                    `json:"requestState"`
	IsError       bool                      `json:"isError"`
}

func (w *web) ask(name, arguments string) (q question, key string) {
	w.t.Helper()
	message, headers := stateless(name, arguments, elicitation, "")
	data, err := json.Marshal(answer(w.t, w.post(message, headers...))["result"])
	require.NoError(w.t, err)
	require.NoError(w.t, json.Unmarshal(data, &q))
	require.Equal(w.t, "input_required", q.ResultType, string(data))
	require.NotEmpty(w.t, q.RequestState)
	for key = range q.InputRequests {
	}
	return q, key
}

// reply makes a call again with an answer.
func (w *web) reply(name, arguments, key, state, response string) map[string]any {
	w.t.Helper()
	more := fmt.Sprintf(`"requestState":%q,"inputResponses":{%q:%s},`, state, key, response)
	message, headers := stateless(name, arguments, elicitation, more)
	return answer(w.t, w.post(message, headers...))
}

func TestAnAnswerIsForTheCallThatAsked(t *testing.T) {
	h, runs := dangerous(t)
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	const params, yes = `{"path":"a","n":1}`, `{"action":"accept","content":{}}`
	q, key := w.ask("write", params)
	assert.Contains(t, fmt.Sprint(q.InputRequests), `{"n":1,"path":"a"}`, "the user sees what would run")

	body, signature, _ := strings.Cut(q.RequestState, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(body)
	require.NoError(t, err)
	forged := strings.Replace(string(decoded), `"expires":1`, `"expires":9`, 1)
	require.NotEqual(t, string(decoded), forged)
	restarted, _ := dangerous(t)
	another := serveWeb(t, restarted, mcpserve.HTTPOptions{})
	otherServer, _ := another.ask("write", params)
	tests := map[string]struct{ url, name, arguments, state string }{
		"another tool":       {w.url, "other", params, q.RequestState},
		"other arguments":    {w.url, "write", `{"path":"b","n":1}`, q.RequestState},
		"one more argument":  {w.url, "write", `{"path":"a","n":1,"x":1}`, q.RequestState},
		"another session":    {w.url + "?session=else", "write", params, q.RequestState},
		"a changed state":    {w.url, "write", params, base64.RawURLEncoding.EncodeToString([]byte(forged)) + "." + signature},
		"no signature":       {w.url, "write", params, body},
		"an empty signature": {w.url, "write", params, body + "."},
		"a flipped bit":      {w.url, "write", params, q.RequestState[:len(q.RequestState)-2] + flip(q.RequestState[len(q.RequestState)-2:])},
		"noise":              {w.url, "write", params, "x.y"},
		"of another server":  {w.url, "write", params, otherServer.RequestState},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			other := &web{t: t, url: tt.url}
			m := other.reply(tt.name, tt.arguments, key, tt.state, yes)
			assert.Equal(t, float64(-32602), m["error"].(map[string]any)["code"])
			assert.Contains(t, protocolError(m), "does not belong to a question")
		})
	}
	assert.Zero(t, *runs, "nothing ran before the answer")
	again := w.reply("write", params, "else", q.RequestState, yes)
	assert.Equal(t, "input_required", again["result"].(map[string]any)["resultType"], "what was not answered is asked again")
	assert.Contains(t, textOf(t, w.reply("write", params, key, q.RequestState, `{"action":"decline"}`)), "did not approve")
	assert.Zero(t, *runs)
	assert.Equal(t, "done", textOf(t, w.reply("write", `{"n":1, "path":"a"}`, key, q.RequestState, yes)), "the order of keys says nothing")
	assert.Equal(t, 1, *runs)
}

// protocolError is the message of an error that is no result.
func protocolError(m map[string]any) string {
	e, _ := m["error"].(map[string]any)
	return fmt.Sprint(e["message"])
}

func flip(two string) string {
	if two[0] == 'A' {
		return "B" + two[1:]
	}
	return "A" + two[1:]
}

func TestAQuestionExpires(t *testing.T) {
	h, runs := dangerous(t)
	w := serveServer(t, mcpserve.New(h, mcpserve.Options{Name: "t", Version: "1", AskTimeout: time.Second}))
	q, key := w.ask("write", `{}`)
	require.Eventually(t, func() bool {
		return strings.Contains(protocolError(w.reply("write", `{}`, "none", q.RequestState, `{"action":"accept"}`)), "does not belong")
	}, 5*time.Second, 50*time.Millisecond)
	w.reply("write", `{}`, key, q.RequestState, `{"action":"accept","content":{}}`)
	assert.Zero(t, *runs)
}

// twice asks two questions and tells the answers.
func twice() *fake {
	return newTool("twice", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		var said []string
		for _, key := range []string{"first", "second"} {
			a, err := c.Ask(ctx, key, tool.Form{Message: key + "?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
			if err != nil {
				return nil, err
			}
			said = append(said, a.Action, string(a.Content))
		}
		return tool.Text(strings.Join(said, " ")), nil
	})
}

func TestSeveralQuestionsInOneCall(t *testing.T) {
	w := serveWeb(t, newHost(t, host.Options{}, twice()), mcpserve.HTTPOptions{})
	session := w.clientOf(&mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": r.Params.Message}}, nil
	}})
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "twice"})
	require.NoError(t, err)
	const want = `accept {"name":"first?"} accept {"name":"second?"}`
	assert.Equal(t, want, r.Content[0].(*mcp.TextContent).Text)

	q, key := w.ask("twice", `{}`)
	m := w.reply("twice", `{}`, key, q.RequestState, `{"action":"accept","content":{"name":1}}`)
	assert.Contains(t, protocolError(m), "does not fit the form")

	old := dial(t, newHost(t, host.Options{}, twice()))
	old.send(fmt.Sprintf(hello, "2025-06-18", elicitation))
	old.receive()
	old.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	old.send(callMessage(1, "twice", "{}"))
	for _, asked := range []string{"first?", "second?"} {
		request := old.receive()
		require.Equal(t, "elicitation/create", request["method"])
		require.Equal(t, asked, request["params"].(map[string]any)["message"])
		old.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"action":"accept","content":{"name":%q}}}`, quoteID(request["id"]), asked))
	}
	assert.Equal(t, want, textOf(t, old.receive()))
}

func quoteID(id any) string {
	data, _ := json.Marshal(id)
	return string(data)
}

func TestAUserWhoDoesNotAnswer(t *testing.T) {
	h, runs := dangerous(t)
	inOut := dialWith(t, h, mcpserve.Options{AskTimeout: 100 * time.Millisecond})
	inOut.send(fmt.Sprintf(hello, "2025-11-25", elicitation))
	inOut.receive()
	inOut.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	inOut.send(callMessage(1, "write", "{}"))
	require.Equal(t, "elicitation/create", inOut.receive()["method"])
	var m map[string]any
	for m = inOut.receive(); m["method"] != nil; m = inOut.receive() { // it is told that the question is withdrawn
	}
	assert.Contains(t, textOf(t, m), "did not answer within")
	assert.Zero(t, *runs)
}

func TestSecretsAreNotAskedInForms(t *testing.T) {
	for name, field := range map[string]string{
		"by format":  `"x":{"type":"string","format":"password"}`,
		"by name":    `"db_password":{"type":"string"}`,
		"by title":   `"x":{"type":"string","title":"API key"}`,
		"write only": `"x":{"type":"string","writeOnly":true}`,
		"a token":    `"token":{"type":"string"}`,
	} {
		t.Run(name, func(t *testing.T) {
			login := newTool("login", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
				_, err := c.Ask(ctx, "k", tool.Form{Message: "Who?", Schema: json.RawMessage(`{"type":"object","properties":{` + field + `}}`)})
				return tool.Text("asked"), err
			})
			w := serveWeb(t, newHost(t, host.Options{}, login), mcpserve.HTTPOptions{})
			message, headers := stateless("login", "{}", elicitation, "")
			text := textOf(t, answer(t, w.post(message, headers...)))
			assert.Contains(t, text, "asks for a secret")
			assert.Contains(t, text, "env(")
		})
	}
}

func TestAClientThatAsksByURLOnlyCannotBeAsked(t *testing.T) {
	h, _ := dangerous(t)
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	headers := w.initialize("2025-11-25", `{"elicitation":{"url":{}}}`)
	response := w.post(callMessage(1, "write", "{}"), headers...)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Contains(t, textOf(t, answer(t, response)), "nobody can be asked")
}

func TestHeartbeatsWhileAToolIsSilent(t *testing.T) {
	release := make(chan struct{})
	h := newHost(t, host.Options{}, newTool("work", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		c.Progress(ctx, tool.Progress{Done: 1, Total: 2, Message: "half"})
		<-release
		c.Progress(ctx, tool.Progress{Done: 2, Total: 2, Message: "whole"})
		return tool.Text("done"), nil
	}))
	w := dialWith(t, h, mcpserve.Options{Heartbeat: 10 * time.Millisecond})
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":7}}}`)
	last := 0.0
	for n := 0; ; n++ {
		m := w.receive()
		if m["method"] == nil {
			assert.Equal(t, "done", textOf(t, m))
			assert.EqualValues(t, 2, last, "the last report comes before the result")
			break
		}
		p := m["params"].(map[string]any)
		assert.EqualValues(t, 7, p["progressToken"])
		assert.Greater(t, p["progress"], last, "progress grows every time")
		last = p["progress"].(float64)
		if n > 0 && n < 3 {
			assert.Contains(t, p["message"], "half (still running after")
		}
		if n == 3 {
			close(release)
		}
	}
}

// A client that fails at a tool's question is told what was asked: a policy rule,
// which helps where a call needs approval, is no answer to it.
func TestAClientThatFailsToAsk(t *testing.T) {
	failing := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return nil, errors.New("no window")
	}}
	approve, _ := dangerous(t)
	for _, tt := range []struct {
		host    *host.Host
		tool    string
		want    string
		allowed bool
	}{
		{newHost(t, host.Options{}, twice()), "twice", "first?", false},
		{approve, "write", "Approve the call", true},
	} {
		session := serveWeb(t, tt.host, mcpserve.HTTPOptions{}).connect("2025-06-18", failing)
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tt.tool, Arguments: map[string]any{}})
		require.NoError(t, err)
		text := r.Content[0].(*mcp.TextContent).Text
		assert.True(t, r.IsError)
		assert.Contains(t, text, "could not ask the user")
		assert.Contains(t, text, tt.want)
		assert.Contains(t, text, "no window")
		assert.Equal(t, tt.allowed, strings.Contains(text, "policy rule"), text)
	}
}
