package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
)

// tracedMeta names a caller's trace in _meta, as clients do.
var tracedMeta = map[string]any{
	"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	"tracestate":  "rojo=00f067aa0ba902b7", "baggage": "tenant=alice-and-bob",
}

// TestTelemetryByTheConventions compares a call over MCP with OpenTelemetry's conventions for MCP
// servers and tools.
func TestTelemetryByTheConventions(t *testing.T) {
	c := delivered(t, func(c *collector) string {
		dir := t.TempDir()
		plant(t, dir, texts{"a.txt": "planted-content\n"})
		cmd := program(t, dir, "serve")
		cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
		s := serveCommand(t, cmd)
		s.hello()
		m := s.request("tools/call", map[string]any{"name": "read_file",
			"arguments": json.RawMessage(`{"path":"a.txt"}`), "_meta": tracedMeta})
		require.Nil(t, m.Error)
		assert.Equal(t, 0, s.end())
		return s.stderr.String()
	})

	call := c.span(t, "tools/call read_file")
	assert.Equal(t, trace.Span_SPAN_KIND_SERVER, call.Kind)
	assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", hexOf(call.TraceId))
	assert.Equal(t, "rojo=00f067aa0ba902b7", call.TraceState)
	attrs := attributes(call.Attributes)
	for key, want := range map[string]string{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file",
		"gen_ai.tool.type": "function", "mcp.method.name": "tools/call",
		"network.transport": "pipe"} {
		assert.Equal(t, want, attrs[key], key)
	}
	assert.Contains(t, attrs["mcp.session.id"], "mcp-")
	assert.NotEmpty(t, attrs["jsonrpc.request.id"])
	assert.NotEmpty(t, attrs["mcp.protocol.version"])
	for _, secret := range []string{"planted-content", "a.txt", "alice"} {
		assert.NotContains(t, c.raw.String(), secret, "without being asked for")
	}
}

// TestTelemetryWithContent: requested content is sent, without secrets.
func TestTelemetryWithContent(t *testing.T) {
	token := "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
	c := delivered(t, func(c *collector) string {
		cmd := program(t, t.TempDir(), "serve")
		cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL,
			"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true")
		s := serveCommand(t, cmd)
		s.hello()
		m := s.request("tools/call", map[string]any{"name": "write_file", "_meta": tracedMeta,
			"arguments": map[string]any{"path": "planted-name.txt", "content": "token " + token}})
		require.Nil(t, m.Error)
		s.call("read_file", `{"path":"none.txt"}`)
		assert.Equal(t, 0, s.end())
		return s.stderr.String()
	})

	wrote := attributes(c.span(t, "tools/call write_file").Attributes)
	assert.JSONEq(t, `{"path":"planted-name.txt","content":"token [redacted]"}`, wrote["gen_ai.tool.call.arguments"])
	assert.Contains(t, wrote["gen_ai.tool.call.result"], "Successfully wrote")
	assert.Equal(t, "alice-and-bob", wrote["baggage.tenant"])
	assert.NotContains(t, c.raw.String(), token)
	read := attributes(c.span(t, "tools/call read_file").Attributes)
	assert.Contains(t, read["gen_ai.tool.call.arguments"], "none.txt")
	assert.NotContains(t, read, "gen_ai.tool.call.result", "it failed")
}
