package trajectory

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/keep/record"
)

var update = flag.Bool("update", false, "write the golden files")

var someSession = Session{Name: "mcp-ABC", Workspace: "/home/me/project", Version: "v1.2.3"}

// detail makes what the record has of a call, seconds after the session began.
func detail(entry int64, id, name, status string, seconds int, facts map[string]any, params,
	result string) *record.Detail {
	d := &record.Detail{Entry: entry, Session: someSession.Name, Request: id, Tool: name, Status: status,
		Began: time.Date(2026, 3, 4, 5, 6, seconds, 789000, time.UTC), Facts: map[string]json.RawMessage{}}
	for key, value := range facts {
		d.Facts[key] = tool.MustMarshal(value)
	}
	if params != "" {
		d.Params = json.RawMessage(params)
	}
	if result != "" {
		d.Result = json.RawMessage(result)
	}
	return d
}

func someCalls() []*record.Detail {
	text := `{"contents":[{"kind":"text","text":"<b>&é one"}]}`
	image := `{"contents":[{"kind":"image","mime_type":"image/png","data":"AAAA"}]}`
	return []*record.Detail{
		detail(2, "tool_step_0001", "write_file", "success", 0, map[string]any{"duration_sec": 0.25, "step": 1,
			"client": "claude-code 2.0.1", "toolset": "project", "source": "plugin files", "config": "cafe",
			"decision": map[string]string{"action": "ask", "rule": "edits"}, "decided_by": "person",
			"files_affected": []string{"a.txt"}, "metadata": map[string]string{"sandbox": "full"}},
			`{"path":"a.txt","content":"one"}`, text),
		detail(5, "mine", "search", "denied", 1, map[string]any{"duration_sec": 1.5, "client": "claude-code 2.0.1",
			"source": "mcp docs", "error": "denied", "message": "the call of search is denied: no rule allows it"},
			`"no object"`, ""),
		detail(9, "tool_step_0003", "shot", "success", 2, map[string]any{"duration_sec": 0.001, "source": "builtin"},
			`{}`, image),
		detail(12, "tool_step_0004", "run_command", "lost", 3, map[string]any{"mcp_method": "tools/call", "rpc_id": "7",
			"mcp_session": "mcp-ABC", "mcp_revision": "2025-11-25", "transport": "pipe"}, `{"argv":["make"]}`, ""),
	}
}

func sequence(calls []*record.Detail) iter.Seq2[*record.Detail, error] {
	return func(yield func(*record.Detail, error) bool) {
		for _, c := range calls {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func written(t *testing.T, f Format, s Session) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Write(&out, f, s, sequence(someCalls())))
	return out.Bytes()
}

func TestGolden(t *testing.T) {
	withContent := someSession
	withContent.Content = true
	for name, got := range map[string][]byte{
		"session.jsonl":     written(t, JSONL, someSession),
		"session.atif.json": written(t, ATIF, someSession),
		"session.otel.json": written(t, OTel, someSession),
		"content.otel.json": written(t, OTel, withContent),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			if *update {
				require.NoError(t, os.WriteFile(path, got, 0o644))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), string(got))
		})
	}
}

// idText finds the ids of spans, which OTLP writes in hexadecimal where the
// JSON of protobuf has base64.
var idText = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([0-9a-f]+)"`)

func readOTLP(t *testing.T, data []byte) []*trace.Span {
	t.Helper()
	data = idText.ReplaceAllFunc(data, func(match []byte) []byte {
		parts := idText.FindSubmatch(match)
		raw, err := hex.DecodeString(string(parts[2]))
		require.NoError(t, err)
		return []byte(`"` + string(parts[1]) + `":"` + base64.StdEncoding.EncodeToString(raw) + `"`)
	})
	var request traceservice.ExportTraceServiceRequest
	require.NoError(t, protojson.Unmarshal(data, &request))
	require.Len(t, request.ResourceSpans, 1)
	return request.ResourceSpans[0].ScopeSpans[0].Spans
}

// TestOTelIsOTLP reads what is written by the definitions of OTLP, which refuse
// fields that they do not have.
func TestOTelIsOTLP(t *testing.T) {
	spans := readOTLP(t, written(t, OTel, someSession))
	require.Len(t, spans, 5)
	root := spans[0]
	assert.Len(t, root.TraceId, 16)
	assert.Empty(t, root.ParentSpanId)
	seen := map[string]bool{}
	for _, s := range spans {
		assert.Len(t, s.SpanId, 8)
		assert.False(t, seen[string(s.SpanId)], "a span's id is its own")
		seen[string(s.SpanId)] = true
		assert.Equal(t, root.TraceId, s.TraceId)
		assert.GreaterOrEqual(t, s.StartTimeUnixNano, root.StartTimeUnixNano)
		assert.LessOrEqual(t, s.EndTimeUnixNano, root.EndTimeUnixNano)
		assert.LessOrEqual(t, s.StartTimeUnixNano, s.EndTimeUnixNano)
	}
	assert.Equal(t, "execute_tool write_file", spans[1].Name)
	assert.EqualValues(t, 250_000_000, spans[1].EndTimeUnixNano-spans[1].StartTimeUnixNano)
	assert.Equal(t, trace.Status_STATUS_CODE_ERROR, spans[2].GetStatus().GetCode())
	assert.Equal(t, "lost", spans[4].GetStatus().GetMessage())
}

// TestSpansOfMCPRequests: a call that came over MCP has the name, the kind and
// the attributes that its live span has; others are the program's own.
func TestSpansOfMCPRequests(t *testing.T) {
	spans := readOTLP(t, written(t, OTel, someSession))
	assert.Equal(t, trace.Span_SPAN_KIND_INTERNAL, spans[1].Kind)
	over := spans[4]
	assert.Equal(t, "tools/call run_command", over.Name)
	assert.Equal(t, trace.Span_SPAN_KIND_SERVER, over.Kind)
	attrs := map[string]string{}
	for _, a := range over.Attributes {
		attrs[a.Key] = a.Value.GetStringValue()
	}
	for key, want := range map[string]string{"mcp.method.name": "tools/call", "jsonrpc.request.id": "7",
		"mcp.session.id": "mcp-ABC", "mcp.protocol.version": "2025-11-25", "network.transport": "pipe"} {
		assert.Equal(t, want, attrs[key], key)
	}
}

func TestSpansHaveNoContentUnlessAsked(t *testing.T) {
	plain := string(written(t, OTel, someSession))
	for _, secret := range []string{"a.txt", "one", "no object", "no rule allows it"} {
		assert.NotContains(t, plain, secret)
	}
	withContent := someSession
	withContent.Content = true
	whole := string(written(t, OTel, withContent))
	assert.Contains(t, whole, "gen_ai.tool.call.arguments")
	assert.Equal(t, 2, strings.Count(whole, `"gen_ai.tool.call.result"`), "of the calls that were successful")
}

// TestATIF holds what is written against the published schema of ATIF 1.4: the
// fields that each object may have and must have, and how they refer to one
// another.
func TestATIF(t *testing.T) {
	var root map[string]any
	require.NoError(t, json.Unmarshal(written(t, ATIF, someSession), &root))
	fields(t, root, "schema_version session_id agent steps",
		"notes final_metrics continued_trajectory_ref extra")
	assert.Equal(t, "ATIF-v1.4", root["schema_version"])
	fields(t, root["agent"], "name version", "model_name extra")
	assert.Equal(t, map[string]any{"name": "claude-code", "version": "2.0.1"}, root["agent"])
	fields(t, root["final_metrics"], "", "total_prompt_tokens total_completion_tokens total_cached_tokens "+
		"total_cost_usd total_steps extra")
	steps := root["steps"].([]any)
	require.Len(t, steps, 4)
	for i, s := range steps {
		step := fields(t, s, "step_id source message",
			"timestamp model_name reasoning_effort reasoning_content tool_calls observation metrics extra")
		assert.EqualValues(t, i+1, step["step_id"])
		assert.Contains(t, []any{"system", "user", "agent"}, step["source"])
		assert.IsType(t, "", step["message"])
		_, err := time.Parse(time.RFC3339Nano, step["timestamp"].(string))
		assert.NoError(t, err)
		known := map[any]bool{}
		for _, c := range step["tool_calls"].([]any) {
			call := fields(t, c, "tool_call_id function_name arguments", "")
			assert.IsType(t, map[string]any{}, call["arguments"])
			known[call["tool_call_id"]] = true
		}
		observation := fields(t, step["observation"], "results", "")
		for _, r := range observation["results"].([]any) {
			result := fields(t, r, "", "source_call_id content subagent_trajectory_ref")
			assert.True(t, known[result["source_call_id"]], "a result is of a call of its step")
			assert.IsType(t, "", result["content"])
		}
	}
}

// fields checks that an object has the required members, and none beyond the
// optional ones.
func fields(t *testing.T, value any, required, optional string) map[string]any {
	t.Helper()
	object, ok := value.(map[string]any)
	require.True(t, ok, "%v is no object", value)
	for _, name := range strings.Fields(required) {
		assert.Contains(t, object, name)
	}
	for name := range object {
		assert.Contains(t, strings.Fields(required+" "+optional), name)
	}
	return object
}

func TestATIFNeedsACall(t *testing.T) {
	var out bytes.Buffer
	err := Write(&out, ATIF, someSession, sequence(nil))
	assert.Equal(t, tool.NotFound, tool.CodeOf(err))
	assert.Empty(t, out.String())
}

func TestUnknownFormat(t *testing.T) {
	err := Write(&bytes.Buffer{}, "yaml", someSession, sequence(nil))
	assert.Equal(t, tool.InvalidArgument, tool.CodeOf(err))
}

// An error of the record ends what is written, and is told.
func TestErrorWhileReading(t *testing.T) {
	broken := func(yield func(*record.Detail, error) bool) {
		yield(nil, tool.Errorf(tool.Unavailable, "disk"))
	}
	for _, f := range Formats() {
		assert.Equal(t, tool.Unavailable, tool.CodeOf(Write(&bytes.Buffer{}, f, someSession, broken)), string(f))
	}
}
