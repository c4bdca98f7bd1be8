package mcpserve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

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
				_, err := c.Ask(ctx, "k",
					tool.Form{Message: "Who?",
						Schema: json.RawMessage(`{"type":"object","properties":{` + field + `}}`)})
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
	assert.Contains(t, textOf(t, answer(t, response)), "no one is there to ask")
}

func TestHeartbeatsWhileAToolIsSilent(t *testing.T) {
	release := make(chan struct{})
	h := newHost(t, host.Options{},
		newTool("work", tool.ReadOnly, func(ctx context.Context, c *tool.Call) (*tool.Result, error) {
			c.Progress(ctx, tool.Progress{Done: 1, Total: 2, Message: "half"})
			<-release
			c.Progress(ctx, tool.Progress{Done: 2, Total: 2, Message: "whole"})
			return tool.Text("done"), nil
		}))
	w := dialWith(t, h, mcpserve.Options{Heartbeat: 10 * time.Millisecond})
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":7}}}`)
	last, beats := 0.0, -1 // -1 before the tool has reported: a beat may come first
	for {
		m := w.receive()
		if m["method"] == nil {
			assert.Equal(t, "done", textOf(t, m))
			assert.InDelta(t, 2, last, 0.01, "the last report comes before the result, and maybe beats after it")
			break
		}
		p := m["params"].(map[string]any)
		assert.EqualValues(t, 7, p["progressToken"])
		assert.Greater(t, p["progress"], last, "progress grows every time")
		last = p["progress"].(float64)
		switch {
		case p["message"] == "half":
			beats = 0
		case beats >= 0 && beats < 3:
			assert.Contains(t, p["message"], "half (still running after")
			if beats++; beats == 3 {
				close(release)
			}
		}
	}
}

// The error for a client that fails at a tool's question names the question. A policy rule, which helps
// if a call needs approval, does not.
func TestAClientThatFailsToAsk(t *testing.T) {
	failing := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult,
		error) {
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
		{approve, "write", "It is dangerous.", true},
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

// desk stores waiting calls as the command line does.
type desk struct {
	mu      sync.Mutex
	waiting []string
	said    host.Verdict
	reason  string
}

func (d *desk) Take(context.Context, string, host.Proposal) (host.Verdict, string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.said
	d.said = ""
	return v, d.reason, nil
}

func (d *desk) File(_ context.Context, session string, p host.Proposal, _ host.Decision) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting = append(d.waiting, session+"/"+p.Tool)
	return "Run approve 4711.", nil
}

// Only an explicit choice allows. An undecided call waits; a user's refusal counts, with the reason.
func TestOnlyAnExplicitChoiceAllows(t *testing.T) {
	const slow, soon, machine = 1100 * time.Millisecond, 900 * time.Millisecond, "decline by a machine"
	for name, tt := range map[string]struct {
		response map[string]any
		after    time.Duration
		runs     int
		waits    bool
		want     string
	}{
		"once": {response: map[string]any{"action": "accept",
			"content": map[string]any{"decision": "once"}}, runs: 1, want: "done"},
		"always": {response: map[string]any{"action": "accept",
			"content": map[string]any{"decision": "always"}}, runs: 1, want: "done"},
		"deny": {response: map[string]any{"action": "accept",
			"content": map[string]any{"decision": "deny"}}, want: "did not approve"},
		"deny with a reason": {response: map[string]any{"action": "accept",
			"content": map[string]any{"decision": "deny", "reason": "use git rm"}}, want: "says: use git rm"},
		"the first choice": {response: map[string]any{"action": "accept",
			"content": map[string]any{"decision": "FIRST"}}, want: "did not approve"},
		"accept alone": {response: map[string]any{"action": "accept"}, waits: true, want: "chose nothing"},
		"an empty form": {response: map[string]any{"action": "accept", "content": map[string]any{}},
			waits: true, want: "approve 4711"},
		"the old form, no": {response: map[string]any{"action": "accept",
			"content": map[string]any{"always": false}}, waits: true, want: "approve 4711"},
		"the old form, yes": {response: map[string]any{"action": "accept",
			"content": map[string]any{"always": true}}, waits: true, want: "approve 4711"},
		"another word": {response: map[string]any{"action": "accept",
			"content": map[string]any{"decision": "yes"}}, waits: true, want: "approve 4711"},
		"another type": {response: map[string]any{"action": "accept",
			"content": map[string]any{"decision": true}}, waits: true, want: "approve 4711"},
		"another action": {response: map[string]any{"action": "ACCEPT",
			"content": map[string]any{"decision": "once"}}, waits: true, want: "approve 4711"},
		machine:               {response: map[string]any{"action": "decline"}, waits: true, want: "declined at once"},
		"decline by a person": {response: map[string]any{"action": "decline"}, after: slow, want: "did not approve"},
		"cancel": {response: map[string]any{"action": "cancel"}, waits: true,
			want: "closed without an answer"},
		"cancel with a choice": {response: map[string]any{"action": "cancel",
			"content": map[string]any{"decision": "once"}}, waits: true, want: "approve 4711"},
		"decline with a choice": {response: map[string]any{"action": "decline",
			"content": map[string]any{"decision": "once"}}, after: slow, want: "did not approve"},
	} {
		for revision, give := range map[string]func(*testing.T, *host.Host, map[string]any, time.Duration) string{
			"2025-06-18": elicitAnswer, "2026-07-28": stateAnswer} {
			t.Run(name+" "+revision, func(t *testing.T) {
				t.Parallel()
				h, runs, d := withDesk(t)
				text := ""
				ask := func() { h, runs, d = withDesk(t); text = give(t, h, tt.response, tt.after) }
				if name == machine {
					testproc.Quickly(soon, ask) // later it would be a user
				} else {
					ask()
				}
				assert.Contains(t, text, tt.want)
				assert.Equal(t, tt.runs, *runs)
				if tt.waits {
					assert.Len(t, d.waiting, 1)
					assert.Contains(t, text, "approve 4711")
				} else {
					assert.Empty(t, d.waiting)
				}
			})
		}
	}
}

// withDesk is dangerous with stored waiting calls.
func withDesk(t *testing.T) (*host.Host, *int, *desk) {
	runs, d := new(int), new(desk)
	write := newTool("write", tool.Dangerous, func(context.Context, *tool.Call) (*tool.Result, error) {
		*runs++
		return tool.Text("done"), nil
	})
	return newHost(t, host.Options{Approvals: d, Judge: func(context.Context, host.Proposal) host.Decision {
		return host.Decision{Action: host.Ask, Rule: "dangerous", Reason: "It is dangerous."}
	}}, write), runs, d
}

// choices returns the values of the approval form, in order, and checks that it is a required single
// choice without a default.
func choices(t *testing.T, form any) []string {
	t.Helper()
	data, err := json.Marshal(form)
	require.NoError(t, err)
	var schema struct {
		Properties struct {
			Decision struct {
				Type    string `json:"type"`
				Default any    `json:"default"`
				OneOf   []struct {
					Const string `json:"const"`
					Title string `json:"title"`
				} `json:"oneOf"`
			} `json:"decision"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	require.NoError(t, json.Unmarshal(data, &schema))
	assert.Equal(t, []string{"decision"}, schema.Required)
	assert.Equal(t, "string", schema.Properties.Decision.Type)
	assert.Nil(t, schema.Properties.Decision.Default)
	var all []string
	for _, c := range schema.Properties.Decision.OneOf {
		assert.NotEmpty(t, c.Title)
		all = append(all, c.Const)
	}
	require.ElementsMatch(t, []string{"once", "always", "deny"}, all)
	return all
}

// fill inserts the form's first choice into a response.
func fill(t *testing.T, response map[string]any, form any) map[string]any {
	first := choices(t, form)[0]
	content, _ := response["content"].(map[string]any)
	if content["decision"] == "FIRST" {
		return map[string]any{"action": response["action"], "content": map[string]any{"decision": first}}
	}
	return response
}

// stateAnswer answers an input-required result and returns the text for the agent.
func stateAnswer(t *testing.T, h *host.Host, response map[string]any, after time.Duration) string {
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	q, key := w.ask("write", `{}`)
	params := q.InputRequests[key]["params"].(map[string]any)
	time.Sleep(after) // a user reads
	data, err := json.Marshal(fill(t, response, params["requestedSchema"]))
	require.NoError(t, err)
	return textOf(t, w.reply("write", `{}`, key, q.RequestState, string(data)))
}

// elicitAnswer answers an elicitation and returns the text for the agent.
func elicitAnswer(t *testing.T, h *host.Host, response map[string]any, after time.Duration) string {
	w := dial(t, h)
	w.send(fmt.Sprintf(hello, "2025-06-18", elicitation))
	w.receive()
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	w.send(callMessage(1, "write", "{}"))
	request := w.receive()
	require.Equal(t, "elicitation/create", request["method"])
	time.Sleep(after)
	data, err := json.Marshal(fill(t, response, request["params"].(map[string]any)["requestedSchema"]))
	require.NoError(t, err)
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, quoteID(request["id"]), data))
	return textOf(t, w.receive())
}

// A waiting call runs if it was approved elsewhere, without being asked again, and not if it was
// refused.
func TestWhatWasSaidElsewhereCountsForClientsThatCanAsk(t *testing.T) {
	h, runs, d := withDesk(t)
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	call := func() string {
		message, headers := stateless("write", `{}`, elicitation, "")
		return textOf(t, answer(t, w.post(message, headers...)))
	}
	d.said = host.ApproveOnce
	assert.Equal(t, "done", call())
	d.said, d.reason = host.Refuse, "not on a Friday"
	assert.Contains(t, call(), "not on a Friday")
	assert.Equal(t, 1, *runs)
	w.ask("write", `{}`)
}

// A made-up session name does not bind a decision: the next connection has another.
func TestWhatASessionsNameBinds(t *testing.T) {
	h, _, d := withDesk(t)
	w := serveWeb(t, h, mcpserve.HTTPOptions{})
	message, headers := stateless("write", `{}`, `{}`, "")
	w.post(message, headers...)
	named := &web{t: t, url: w.url + "?session=else"}
	named.post(message, headers...)
	inOut := dial(t, h)
	inOut.initialize("2025-06-18")
	inOut.send(callMessage(1, "write", "{}"))
	assert.Contains(t, textOf(t, inOut.receive()), "approve 4711")
	assert.Equal(t, []string{"/write", "http-else/write", "/write"}, d.waiting)
}

// Codex cannot send a form with an empty text: it is asked for the decision alone, and then for the
// reason of a refusal.
func TestAClientThatNeedsEveryText(t *testing.T) {
	const asCodex = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{"elicitation":{}},"clientInfo":{"name":"codex-mcp-client","version":"0.169.0"}}}`
	for name, tt := range map[string]struct {
		decision, reason, want string
		runs                   int
	}{
		"once": {decision: "once", want: "done", runs: 1},
		"deny with a reason": {decision: "deny", reason: `{"action":"accept","content":{"reason":"keep it"}}`,
			want: "says: keep it"},
		"deny": {decision: "deny", reason: `{"action":"cancel"}`,
			want: "did not approve the call of write"},
	} {
		t.Run(name, func(t *testing.T) {
			h, runs, d := withDesk(t)
			w := dial(t, h)
			w.send(asCodex)
			w.receive()
			w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			w.send(callMessage(1, "write", "{}"))
			m := w.receive()
			form, err := json.Marshal(m["params"].(map[string]any)["requestedSchema"])
			require.NoError(t, err)
			assert.NotContains(t, string(form), `"reason"`)
			assert.ElementsMatch(t, []string{"once", "always", "deny"},
				choices(t, m["params"].(map[string]any)["requestedSchema"]))
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":{"action":"accept","content":{"decision":%q}}}`,
				quoteID(m["id"]), tt.decision))
			if tt.reason != "" {
				m = w.receive()
				require.Equal(t, "elicitation/create", m["method"])
				assert.Contains(t, m["params"].(map[string]any)["message"], "It will not run.")
				w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":%s}`, quoteID(m["id"]), tt.reason))
			}
			assert.Contains(t, textOf(t, w.receive()), tt.want)
			assert.Equal(t, tt.runs, *runs)
			assert.Empty(t, d.waiting)
		})
	}
}
