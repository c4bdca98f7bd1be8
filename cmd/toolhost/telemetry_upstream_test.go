package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testproc"
)

// upstreamServer is an MCP server over HTTP with one tool, echo. It returns the address and the calls
// received.
func upstreamServer(t *testing.T) (url string, calls chan *mcp.CallToolRequest) {
	calls = make(chan *mcp.CallToolRequest, 100)
	server := mcp.NewServer(&mcp.Implementation{Name: "upstream", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "echo", Description: "Echo.", InputSchema: json.RawMessage(`{"type":"object"}`),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			calls <- r
			text := fmt.Sprintf("echo %d of %s", len(calls), r.Params.Arguments)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
		})
	h := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(h.Close)
	return h.URL, calls
}

// The caller's trace goes to the answering server; baggage, which is for the caller's own services,
// does not.
func TestTraceGoesUpstream(t *testing.T) {
	url, calls := upstreamServer(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.hcl"),
		fmt.Appendf(nil, "mcp \"up\" {\n  url = %q\n}\npolicy { dangerous = \"allow\" }\n", url), 0o644))
	s := serve(t, dir)
	m := s.request("tools/call",
		map[string]any{"name": "echo", "arguments": map[string]any{"a": 1}, "_meta": tracedMeta})
	require.Nil(t, m.Error)
	meta := testproc.Receive(t, calls, "the call").Params.Meta
	assert.Equal(t, tracedMeta["traceparent"], meta["traceparent"])
	assert.Equal(t, tracedMeta["tracestate"], meta["tracestate"])
	assert.NotContains(t, meta, "baggage")

	s.request("tools/call", map[string]any{"name": "echo", "arguments": map[string]any{"a": 2}})
	meta = testproc.Receive(t, calls, "the call").Params.Meta
	assert.NotContains(t, meta, "traceparent", "no trace where the caller names none")
}
