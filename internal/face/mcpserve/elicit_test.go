package mcpserve_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

const elicitation = `{"elicitation":{}}`

// Answers of a client to an approval question.
const (
	yes    = `{"action":"accept","content":{"decision":"once"}}`
	always = `{"action":"accept","content":{"decision":"always"}}`
	no     = `{"action":"accept","content":{"decision":"deny"}}`
)

// dangerous returns a host whose tool write needs approval, and how often it ran.
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

func (w *web) reply(name, arguments, key, state, response string) map[string]any {
	w.t.Helper()
	more := fmt.Sprintf(`"requestState":%q,"inputResponses":{%q:%s},`, state, key, response)
	message, headers := stateless(name, arguments, elicitation, more)
	return answer(w.t, w.post(message, headers...))
}

func TestAnAnswerIsForTheCallThatAsked(t *testing.T) {
	h, runs := dangerous(t)
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	const params = `{"path":"a","n":1}`
	q, key := w.ask("write", params)
	assert.Contains(t, fmt.Sprint(q.InputRequests), "Parameters:\n  path: a\n  n: 1\n", "the user sees what would run")

	body, signature, _ := strings.Cut(q.RequestState, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(body)
	require.NoError(t, err)
	forged := regexp.MustCompile(`"expires":\d+`).ReplaceAllString(string(decoded), `"expires":99999999999`)
	require.NotEqual(t, string(decoded), forged)
	restarted, _ := dangerous(t)
	another := serveWeb(t, restarted, mcpserve.HTTPOptions{})
	otherServer, _ := another.ask("write", params)
	tests := map[string]struct{ url, name, arguments, state string }{
		"another tool":      {w.url, "other", params, q.RequestState},
		"other arguments":   {w.url, "write", `{"path":"b","n":1}`, q.RequestState},
		"one more argument": {w.url, "write", `{"path":"a","n":1,"x":1}`, q.RequestState},
		"another session":   {w.url + "?session=else", "write", params, q.RequestState},
		"a changed state": {w.url, "write", params,
			base64.RawURLEncoding.EncodeToString([]byte(forged)) + "." + signature},
		"no signature":       {w.url, "write", params, body},
		"an empty signature": {w.url, "write", params, body + "."},
		"a flipped bit": {w.url, "write", params,
			q.RequestState[:len(q.RequestState)-2] + flip(q.RequestState[len(q.RequestState)-2:])},
		"noise":             {w.url, "write", params, "x.y"},
		"of another server": {w.url, "write", params, otherServer.RequestState},
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
	assert.Equal(t, "input_required", again["result"].(map[string]any)["resultType"],
		"what was not answered is asked again")
	assert.Contains(t, textOf(t, w.reply("write", params, key, q.RequestState, no)), "did not approve")
	assert.Contains(t, protocolError(w.reply("write", params, key, q.RequestState, yes)), "does not belong",
		"a question is answered once")
	assert.Zero(t, *runs)
	q, key = w.ask("write", params)
	assert.Equal(t, "done", textOf(t, w.reply("write", `{"n":1, "path":"a"}`, key, q.RequestState, yes)),
		"the order of keys says nothing")
	assert.Equal(t, 1, *runs)
	for range 3 {
		assert.Contains(t, protocolError(w.reply("write", params, key, q.RequestState, yes)), "does not belong")
	}
	assert.Equal(t, 1, *runs, "an approval is good for one run")
}

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

// A late answer decides nothing: the call waits for approval elsewhere. A late answer to a tool's
// question is refused.
func TestAQuestionExpires(t *testing.T) {
	testneed.NotShort(t, "waits for time limits")
	h, runs, d := withDesk(t)
	w := serveServer(t, mcpserve.New(h, mcpserve.Options{Name: "t", Version: "1", AskTimeout: time.Second}))
	q, key := w.ask("write", `{}`)
	late := func(key, answer string) string {
		result, _ := w.reply("write", `{}`, key, q.RequestState, answer)["result"].(map[string]any)
		return fmt.Sprint(result["content"])
	}
	testproc.Until(t, "it expires", func() (bool, string) {
		text := late("none", `{"action":"accept"}`)
		return strings.Contains(text, "did not answer within 1s"), text
	})
	for _, answer := range []string{yes, always} {
		text := late(key, answer)
		assert.Contains(t, text, "did not answer within 1s")
		assert.Contains(t, text, "approve 4711")
	}
	assert.Zero(t, *runs)
	assert.NotEmpty(t, d.waiting)

	tools := serveServer(t, mcpserve.New(newHost(t, host.Options{}, twice()),
		mcpserve.Options{Name: "t", Version: "1", AskTimeout: time.Second}))
	q, _ = tools.ask("twice", `{}`)
	testproc.Until(t, "it expires", func() (bool, string) {
		text := protocolError(tools.reply("twice", `{}`, "none", q.RequestState, `{"action":"accept"}`))
		return strings.Contains(text, "does not belong"), text
	})
}

// twice asks two questions and returns the answers.
func twice() *fake {
	return newTool("twice", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		var said []string
		for _, key := range []string{"first", "second"} {
			a, err := c.Ask(ctx, key,
				tool.Form{Message: key + "?",
					Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)})
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
	session := w.clientOf(&mcp.ClientOptions{ElicitationHandler: func(_ context.Context,
		r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": r.Params.Message}}, nil
	}})
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "twice"})
	require.NoError(t, err)
	const want = `accept {"name":"first?"} accept {"name":"second?"}`
	assert.Equal(t, want, r.Content[0].(*mcp.TextContent).Text)

	q, key := w.ask("twice", `{}`)
	m := w.reply("twice", `{}`, key, q.RequestState, `{"action":"accept","content":{"name":1}}`)
	assert.Contains(t, protocolError(m), `the answer to "first?" does not fit the form`)
	assert.Contains(t, protocolError(m), "name (string)")

	old := dial(t, newHost(t, host.Options{}, twice()))
	old.send(fmt.Sprintf(hello, "2025-06-18", elicitation))
	old.receive()
	old.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	old.send(callMessage(1, "twice", "{}"))
	for _, asked := range []string{"first?", "second?"} {
		request := old.receive()
		require.Equal(t, "elicitation/create", request["method"])
		require.Equal(t, asked, request["params"].(map[string]any)["message"])
		old.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"action":"accept","content":{"name":%q}}}`,
			quoteID(request["id"]), asked))
	}
	assert.Equal(t, want, textOf(t, old.receive()))
}

func TestAnAnswerIsGoodOnce(t *testing.T) {
	w := serveWeb(t, newHost(t, host.Options{}, twice()), mcpserve.HTTPOptions{})
	q, key := w.ask("twice", `{}`)
	const ada = `{"action":"accept","content":{"name":"Ada"}}`
	assert.Contains(t, protocolError(w.reply("twice", `{}`, key, q.RequestState, `{"action":"accept","content":{}}`)),
		"does not fit", "control: this answers nothing")
	assert.Equal(t, "input_required", w.reply("twice", `{}`, "else", q.RequestState, ada)["result"].(map[string]any)["resultType"],
		"control: nor does this")
	second := w.reply("twice", `{}`, key, q.RequestState, ada)["result"].(map[string]any)
	require.Equal(t, "input_required", second["resultType"])
	state := second["requestState"].(string)
	assert.Contains(t, textOf(t, w.reply("twice", `{}`, "second", state, ada)), `accept {"name":"Ada"} accept`)
	for _, action := range []string{ada, `{"action":"decline"}`} {
		assert.Contains(t, protocolError(w.reply("twice", `{}`, key, q.RequestState, action)), "does not belong")
		assert.Contains(t, protocolError(w.reply("twice", `{}`, "second", state, action)), "does not belong")
	}
}

// A client that cannot draw a form sends it empty: the agent is told which answers are valid.
func TestAnEmptyFormIsAnsweredWithItsFields(t *testing.T) {
	color := newTool("color", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
		_, err := c.Ask(ctx, "style", tool.Form{Message: "Which style?", Schema: json.RawMessage(
			`{"type":"object","properties":{"size":{"type":"integer"},"color":{"type":"string","enum":["r","g"]},` +
				`"note":{"type":"string"}},"required":["size","color"]}`)})
		return tool.Text("painted"), err
	})
	for _, revision := range []string{"2025-06-18", "2025-11-25"} {
		for _, content := range []string{`,"content":{}`, ``} {
			w := dial(t, newHost(t, host.Options{}, color))
			w.send(fmt.Sprintf(hello, revision, elicitation))
			w.receive()
			w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			w.send(callMessage(1, "color", "{}"))
			request := w.receive()
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"action":"accept"%s}}`, quoteID(request["id"]),
				content))
			text := textOf(t, w.receive())
			assert.Contains(t, text, `the answer to "Which style?" does not fit the form`)
			assert.Contains(t, text, "color (one of r, g), note (string, optional), size (integer)")
			assert.NotContains(t, text, "validating root")
		}
	}
}

func quoteID(id any) string {
	data, _ := json.Marshal(id)
	return string(data)
}

func TestAUserWhoDoesNotAnswer(t *testing.T) {
	h, runs := dangerous(t)
	inOut := dialWith(t, h, mcpserve.Options{AskTimeout: 300 * time.Millisecond})
	inOut.send(fmt.Sprintf(hello, "2025-11-25", elicitation))
	inOut.receive()
	inOut.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	inOut.send(callMessage(1, "write", "{}"))
	require.Equal(t, "elicitation/create", inOut.receive()["method"])
	var m map[string]any
	for m = inOut.receive(); m["method"] != nil; m = inOut.receive() { // the question is withdrawn
	}
	assert.Contains(t, textOf(t, m), "did not answer within")
	assert.Zero(t, *runs)
}

// If a question times out, the call stays waiting, under the ID that the agent reads, and a later
// answer runs nothing.
func TestATimeOutLeavesTheCallWaiting(t *testing.T) {
	h, runs, d := withDesk(t)
	inOut := dialWith(t, h, mcpserve.Options{AskTimeout: 300 * time.Millisecond})
	inOut.send(fmt.Sprintf(hello, "2025-11-25", elicitation))
	inOut.receive()
	inOut.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	inOut.send(callMessage(1, "write", "{}"))
	question := inOut.receive()
	require.Equal(t, "elicitation/create", question["method"])
	result := func() string {
		for {
			if m := inOut.receive(); m["method"] == nil { // the question is withdrawn too
				return textOf(t, m)
			}
		}
	}
	text := result()
	assert.Contains(t, text, "the user did not answer within 300ms")
	assert.Contains(t, text, "approve 4711")
	assert.Equal(t, []string{"/write"}, d.waiting)
	inOut.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, quoteID(question["id"]), yes))
	assert.Zero(t, *runs)

	d.said = host.ApproveOnce // on the command line
	inOut.send(callMessage(2, "write", "{}"))
	assert.Equal(t, "done", result(), "control: what was approved elsewhere runs")
	assert.Equal(t, 1, *runs)
}

// The user sees one question for one exact call: an equal concurrent call is refused at once, and a
// later one asks again.
func TestEqualCallsAskOnce(t *testing.T) {
	h, runs := dangerous(t)
	old := dial(t, h)
	old.send(fmt.Sprintf(hello, "2025-11-25", elicitation))
	old.receive()
	old.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	for round := range 2 {
		old.send(callMessage(1, "write", `{"path":"a","n":1}`))
		first := old.receive()
		require.Equal(t, "elicitation/create", first["method"], "round %d", round)
		old.send(callMessage(2, "write", `{"n":1,"path":"a"}`))
		assert.Contains(t, textOf(t, old.receive()), "is being asked about the same call of write already")
		old.send(callMessage(3, "write", `{"path":"b"}`))
		other := old.receive()
		require.Equal(t, "elicitation/create", other["method"], "another call is another question")
		for _, request := range []map[string]any{first, other} {
			old.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, quoteID(request["id"]), yes))
			assert.Equal(t, "done", textOf(t, old.receive()))
		}
		assert.Equal(t, 3*round+2, *runs)

		q, key := w.ask("write", `{"path":"a"}`)
		message, headers := stateless("write", `{"path":"a"}`, elicitation, "")
		assert.Contains(t, textOf(t, answer(t, w.post(message, headers...))), "is being asked about the same call")
		again := w.reply("write", `{"path":"a"}`, "else", q.RequestState, yes)["result"].(map[string]any)
		assert.Equal(t, "input_required", again["resultType"], "a question that follows itself")
		state := again["requestState"].(string)
		assert.Equal(t, "done", textOf(t, w.reply("write", `{"path":"a"}`, key, state, yes)))
		assert.Equal(t, 3*round+3, *runs)
	}
}
