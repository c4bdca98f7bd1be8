package mcpserve_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// everyRevision returns all revisions that the server supports.
func everyRevision() []string { return append([]string{"2024-11-05", "2025-03-26"}, revisions()...) }

// sdkClient returns the official Go client at a revision, over stdio.
func sdkClient(t *testing.T, h *host.Host, revision string) *mcp.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	server := mcpserve.New(h, mcpserve.Options{Name: "toolhost", Version: "test"})
	go func() { _ = outW.CloseWithError(server.ServeStdio(context.Background(), inR, outW)) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: outR, Writer: inW},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close(); _ = inW.Close() })
	return session
}

func gives(name, structured, returns string) *fake {
	f := newTool(name, tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
		r := tool.Text(structured)
		r.Structured = json.RawMessage(structured)
		return r, nil
	})
	return withSchemas(f, "", returns)
}

// A structured result is an object on every revision that requires one, and fits the schema sent at
// that revision.
func TestStructuredResultsOfAllKinds(t *testing.T) {
	tests := map[string]struct {
		value, returns string
		wrapped        bool // before 2026-07-28
	}{
		"array":        {`[1,"two"]`, ``, true},
		"scalar":       {`7.50`, ``, true},
		"text":         {`"<a> & b"`, ``, true},
		"null":         {`null`, ``, true},
		"false":        {`false`, ``, true},
		"empty_array":  {`[]`, ``, true},
		"empty_object": {`{}`, ``, false},
		"object":       {`{"a":[1]}`, `{"required":["a"],"type":"object"}`, false},
		"array_as_said": {`[1]`, `{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`,
			true},
		"object_of_union": {`{"a":1}`, `{"anyOf":[{"type":"object"},{"type":"array"}]}`, true},
	}
	var tools []tool.Tool
	for name, tt := range tests {
		tools = append(tools, gives(name, tt.value, tt.returns))
	}
	h := newHost(t, host.Options{}, tools...)
	for _, revision := range everyRevision() {
		session := sdkClient(t, h, revision)
		list, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, list.Tools, len(tests))
		for _, listed := range list.Tools {
			t.Run(revision+" "+listed.Name, func(t *testing.T) {
				tt := tests[listed.Name]
				r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: listed.Name})
				require.NoError(t, err)
				want := tt.value
				if tt.wrapped && revision < "2026-07-28" {
					want = `{"result":` + want + `}`
				}
				if want == "null" { // the client decodes it like none
					assert.Nil(t, r.StructuredContent)
					return
				}
				got, err := json.Marshal(r.StructuredContent)
				require.NoError(t, err)
				assert.JSONEq(t, want, string(got))
				assertFits(t, listed.OutputSchema, r.StructuredContent, revision)
			})
		}
	}
}

// A tool without the structured result that its schema promises returns an error with its result:
// clients refuse any other answer.
func TestPromisedStructuredResultsThatAreMissing(t *testing.T) {
	h := newHost(t, host.Options{},
		withSchemas(newTool("made", tool.ReadOnly, func(context.Context, *tool.Call) (*tool.Result, error) {
			return tool.Text("the text"), nil
		}), "", `{"type":"object"}`))
	for _, revision := range everyRevision() {
		r, err := sdkClient(t, h, revision).CallTool(t.Context(), &mcp.CallToolParams{Name: "made"})
		require.NoError(t, err, revision)
		assert.True(t, r.IsError, revision)
		assert.Nil(t, r.StructuredContent, revision)
		assert.Equal(t, "the text", r.Content[0].(*mcp.TextContent).Text, revision)
		assert.Contains(t, r.Content[len(r.Content)-1].(*mcp.TextContent).Text, "no structured part", revision)
	}
}

// assertFits fails unless a value is valid for the schema at that revision.
func assertFits(t *testing.T, outputSchema, value any, revision string) {
	t.Helper()
	if outputSchema == nil {
		return
	}
	if revision < "2026-07-28" {
		assert.Equal(t, "object", outputSchema.(map[string]any)["type"])
	}
	raw, err := json.Marshal(outputSchema)
	require.NoError(t, err)
	var parsed jsonschema.Schema
	require.NoError(t, json.Unmarshal(raw, &parsed))
	resolved, err := parsed.Resolve(nil)
	require.NoError(t, err)
	assert.NoError(t, resolved.Validate(value))
}

// Every text arrives, whatever its bytes.
func TestTextsOfAllKinds(t *testing.T) {
	testneed.NotShort(t, "sends long messages and keeps many connections")
	tests := map[string]struct{ text, want string }{
		"empty":     {"", ""},
		"nul":       {"a\x00b", "a\x00b"},
		"not_utf8":  {"caf\xe9 \xff\xfe", "caf\ufffd \ufffd\ufffd"},
		"ten_mb":    {strings.Repeat("0123456789abcde\n", 10<<16), strings.Repeat("0123456789abcde\n", 10<<16)},
		"separator": {"a\u2028b", "a\u2028b"},
	}
	var tools []tool.Tool
	for name, tt := range tests {
		tools = append(tools, newTool(name, tool.ReadOnly,
			func(context.Context, *tool.Call) (*tool.Result, error) { return tool.Text(tt.text), nil }))
	}
	h := newHost(t, host.Options{}, tools...)
	for _, revision := range everyRevision() {
		session := sdkClient(t, h, revision)
		for name, tt := range tests {
			r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			require.NoError(t, err, "%s %s", revision, name)
			require.Len(t, r.Content, 1)
			got := r.Content[0].(*mcp.TextContent).Text
			assert.True(t, got == tt.want && utf8.ValidString(got), "%s %s", revision, name)
		}
	}
}

// A client that asks for an unknown revision gets that of the answer.
func TestTheRevisionIsTheOneAgreedOn(t *testing.T) {
	w := dial(t, newHost(t, host.Options{}, gives("list", `[1]`, `{"type":"array"}`)))
	agreed := w.initialize("2099-01-01")["result"].(map[string]any)["protocolVersion"].(string)
	require.Less(t, agreed, "2026-07-28")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	listed := w.receive()["result"].(map[string]any)["tools"].([]any)[0].(map[string]any)
	assert.Equal(t, "object", listed["outputSchema"].(map[string]any)["type"])
	w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list"}}`)
	assert.Equal(t, map[string]any{"result": []any{float64(1)}},
		w.receive()["result"].(map[string]any)["structuredContent"])
}
