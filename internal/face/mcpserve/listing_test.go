package mcpserve_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
)

func withSchemas(f *fake, parameters, returns string) *fake {
	f.def.Parameters, f.def.Returns = json.RawMessage(parameters), json.RawMessage(returns)
	return f
}

// Lists have the tools' schemas unchanged: in order, with unknown keywords.
func TestListsHoldTheSchemasAsTheyAre(t *testing.T) {
	const parameters, returns = `{"type":"object","zebra":[1.50],"properties":{"b":true,"a":{"x-own":"y"}}}`,
		`{"required":["z"],"type":"object"}`
	w := dial(t, newHost(t, host.Options{}, withSchemas(newTool("shown", tool.ReadOnly, nil), parameters, returns),
		newTool("bare", tool.ReadOnly, nil)))
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	line, err := w.out.ReadBytes('\n')
	require.NoError(t, err)
	assert.Contains(t, string(line), `"inputSchema":`+parameters)
	assert.Contains(t, string(line), `"outputSchema":`+returns)
	assert.Contains(t, string(line),
		`"inputSchema":{"type":"object","properties":{},"additionalProperties":false},"name":"bare"`)
	assert.Less(t, bytes.Index(line, []byte(`"bare"`)), bytes.Index(line, []byte(`"shown"`)), "sorted by name")
}

// A parameter may be repeated in a header for routers; then both must agree, however its schema spells
// that.
func TestParametersThatHeadersRepeat(t *testing.T) {
	named := func(name, annotation string) *fake {
		f := echoTool()
		f.def.Name = name
		return withSchemas(f, `{"type":"object","properties":{"text":{"type":"string"`+annotation+`}}}`, "")
	}
	w := serveWeb(t, newHost(t, host.Options{},
		named("plain", ``), named("routed", `,"x-mcp-header":"Text"`), named("escaped", `,"x-mcp\u002dheader":"Text"`)),
		mcpserve.HTTPOptions{})
	for name, compared := range map[string]bool{"plain": false, "routed": true, "escaped": true} {
		for header, agrees := range map[string]bool{"here": true, "there": false} {
			message, headers := stateless(name, `{"text":"here"}`, "{}", "")
			got := fmt.Sprint(answer(t, w.post(message, append(headers, "Mcp-Param-Text: "+header)...)))
			if compared && !agrees {
				assert.Contains(t, got, "Mcp-Param-Text", "%s %s", name, header)
				assert.NotContains(t, got, `{"text":"here"}`)
			} else {
				assert.Contains(t, got, `{"text":"here"}`, "%s %s", name, header)
			}
		}
	}
}

// A plugin's definition cannot end the server.
func TestSchemasThatTheSDKPanicsAt(t *testing.T) {
	w := dial(t, newForeignHost(t,
		withSchemas(newTool("header", tool.ReadOnly, nil),
			`{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"A"}}}`, ""),
		withSchemas(newTool("no_object", tool.ReadOnly, nil), `{"properties":{}}`, `{"type":7}`),
	))
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	tools := w.receive()["result"].(map[string]any)["tools"].([]any)
	assert.Len(t, tools, 2)
	assert.NotContains(t, tools[1], "outputSchema", "clients lose all tools for one schema that is none")
}

// A schema with an unknown type is not shown: model APIs refuse a request for it. A pattern is shown in
// a form that every client can compile, and checked as written.
func TestSchemasThatClientsCannotUse(t *testing.T) {
	w := dial(t, newForeignHost(t,
		withSchemas(newTool("misspelt", tool.ReadOnly, nil), `{"type":"object","properties":{"a":{"type":"strng"}}}`,
			`{"type":"object","properties":{"a":{"type":"strng"}}}`),
		withSchemas(newTool("pattern", tool.ReadOnly, nil),
			`{"type":"object","properties":{"a":{"type":"string","pattern":"(?i)^\\pL$"},"b":{"type":"string","pattern":"(?i)^x$"}}}`, ""),
	))
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	tools := w.receive()["result"].(map[string]any)["tools"].([]any)
	misspelt, pattern := tools[0].(map[string]any), tools[1].(map[string]any)
	assert.Equal(t, map[string]any{"type": "object"}, misspelt["inputSchema"])
	assert.NotContains(t, misspelt, "outputSchema")
	assert.Equal(t, map[string]any{"a": map[string]any{"type": "string"},
		"b": map[string]any{"type": "string", "pattern": "^[Xx]$"}},
		pattern["inputSchema"].(map[string]any)["properties"])
	w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pattern","arguments":{"a":"7"}}}`)
	assert.Contains(t, textOf(t, w.receive()), "(?i)^")
}

// Clients that keep long results from the model learn how long a tool's may be.
func TestToolsWithLongResults(t *testing.T) {
	reads := newTool("reads", tool.ReadOnly, nil)
	reads.def.Permissions = []tool.Permission{tool.FileRead}
	w := dial(t, newHost(t, host.Options{}, reads, newTool("counts", tool.ReadOnly, nil)))
	w.initialize("2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	tools := w.receive()["result"].(map[string]any)["tools"].([]any)
	assert.NotContains(t, tools[0], "_meta")
	assert.Equal(t, map[string]any{"anthropic/maxResultSizeChars": float64(200_000)},
		tools[1].(map[string]any)["_meta"])
}
