package mcpserve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
)

func manyTools() []tool.Tool {
	tools := []tool.Tool{echoTool()}
	for n := range 300 {
		t := newTool(fmt.Sprintf("tool_%03d", n), tool.ReadOnly,
			func(context.Context, *tool.Call) (*tool.Result, error) {
				return tool.Text(fmt.Sprint(n)), nil
			})
		t.def.Description = fmt.Sprintf("Do the thing number %d. Returns: it.", n)
		tools = append(tools, t)
	}
	return tools
}

func structured(t *testing.T, m map[string]any) map[string]any {
	t.Helper()
	require.NotNil(t, m["result"], m)
	return m["result"].(map[string]any)["structuredContent"].(map[string]any)
}

func TestSearchInsteadOfALongList(t *testing.T) {
	for name, w := range map[string]*wire{
		"by the operator": dialWith(t, newHost(t, host.Options{}, manyTools()...), mcpserve.Options{Search: true}),
		"by the toolset":  dial(t, newHost(t, host.Options{Toolset: host.Toolset{Search: true}}, manyTools()...)),
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.initialize("2025-11-25")
			w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			listed := w.receive()["result"].(map[string]any)["tools"].([]any)
			var names []string
			for _, l := range listed {
				names = append(names, l.(map[string]any)["name"].(string))
			}
			assert.Equal(t, []string{"call_tool", "describe_tool", "search_tools"}, names)

			w.send(callMessage(2, "search_tools", `{"query":"thing number 217","limit":3}`))
			out := structured(t, w.receive())
			best := out["tools"].([]any)
			require.Len(t, best, 3)
			assert.Equal(t, "tool_217", best[0].(map[string]any)["name"])
			assert.Contains(t, out["note"], "more match")
			w.send(callMessage(3, "search_tools", `{"query":"zebra"}`))
			assert.Contains(t, structured(t, w.receive())["note"], "empty query to list all 301 tools")

			w.send(callMessage(4, "describe_tool", `{"name":"echo"}`))
			schema := structured(t, w.receive())["inputSchema"].(map[string]any)
			assert.Contains(t, schema["properties"], "text")
			w.send(callMessage(5, "call_tool", `{"name":"echo","arguments":{"text":"x"}}`))
			assert.Equal(t, `{"text":"x"}`, textOf(t, w.receive()))
			w.send(callMessage(6, "call_tool", `{"name":"echo","arguments":{"txt":"x"}}`))
			assert.Contains(t, textOf(t, w.receive()), `did you mean "text"?`)
			w.send(callMessage(7, "call_tool", `{"name":"ecko"}`))
			assert.Contains(t, textOf(t, w.receive()), `Did you mean "echo"?`)
			w.send(callMessage(8, "call_tool", `{"arguments":{}}`))
			assert.Contains(t, textOf(t, w.receive()), "name: is required")
			w.send(callMessage(9, "echo", `{"text":"x"}`))
			assert.Contains(t, fmt.Sprint(w.receive()["error"]), `call_tool: {"arguments":{},"name":"echo"}`)
		})
	}
}

func TestACallThroughTheSearchNeedsItsApproval(t *testing.T) {
	h, runs := dangerous(t)
	server := mcpserve.New(h, mcpserve.Options{Name: "t", Version: "1", Search: true})
	w := serveServer(t, server)
	const params = `{"name":"write","arguments":{"path":"a"}}`
	q, key := w.ask("call_tool", params)
	assert.Contains(t, fmt.Sprint(q.InputRequests), "Write: a? (rule dangerous)")
	m := w.reply("call_tool", `{"name":"other","arguments":{"path":"a"}}`, key, q.RequestState, yes)
	data, err := json.Marshal(m)
	require.NoError(t, err)
	assert.Contains(t, string(data), "does not belong to a question")
	assert.Zero(t, *runs)
	assert.Equal(t, "done", textOf(t, w.reply("call_tool", params, key, q.RequestState, yes)))
}
