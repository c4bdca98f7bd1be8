package mcpserve_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
)

// Gemini CLI's extra parameter is removed from every call, with a log line; other unknown parameters
// are errors.
func TestParametersThatClientsAdd(t *testing.T) {
	own := echoTool()
	own.def.Name = "own"
	own.def.Parameters = json.RawMessage(`{"type":"object","properties":{"wait_for_previous":{"type":"boolean"}},` +
		`"additionalProperties":false}`)
	tests := map[string]struct{ tool, arguments, want string }{
		"true":           {"echo", `{"text":"a","wait_for_previous":true}`, `{"text":"a"}`},
		"false, first":   {"echo", `{"wait_for_previous":false,"text":"a"}`, `{"text":"a"}`},
		"in a value":     {"echo", `{"text":"wait_for_previous"}`, `{"text":"wait_for_previous"}`},
		"the tool's own": {"own", `{"wait_for_previous":true}`, `{"wait_for_previous":true}`},
		"no boolean": {"echo", `{"text":"a","wait_for_previous":"yes"}`,
			"wait_for_previous: is not a known parameter"},
		"another unknown": {"echo", `{"text":"a","wait_for_previous":true,"wait":true}`,
			"wait: is not a known parameter"},
		"twice": {"echo", `{"text":"a","text":"b","wait_for_previous":true}`, "text is given twice"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
			w := dialWith(t, newHost(t, host.Options{}, echoTool(), own), mcpserve.Options{Logger: logger})
			w.initialize("2025-11-25")
			w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tt.tool + `","arguments":` +
				tt.arguments + `}}`)
			assert.Contains(t, textOf(t, w.receive()), tt.want)
			if tt.want == `{"text":"a"}` {
				assert.Contains(t, log.String(), `level=DEBUG`)
				assert.Contains(t, log.String(), `tool=echo parameter=wait_for_previous client="Gemini CLI"`)
			}
		})
	}
}

// With a search instead of the list the client adds it to the search tools.
func TestParametersThatClientsAddToTheSearch(t *testing.T) {
	w := dialWith(t, newHost(t, host.Options{}, newTool("quiet", tool.ReadOnly, nil)), mcpserve.Options{Search: true})
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_tools",` +
		`"arguments":{"query":"quiet","wait_for_previous":true}}}`)
	answer := w.receive()
	require.NotEqual(t, true, answer["result"].(map[string]any)["isError"])
	assert.Contains(t, textOf(t, answer), `"quiet"`)
}
