package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// collector is an OTLP receiver that keeps what it gets.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*trace.Span
	service map[string]string
	raw     bytes.Buffer
	headers http.Header
}

func newCollector(t *testing.T) *collector {
	c := new(collector)
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

// delivered repeats a program until all its telemetry has reached a collector: at its end it waits only
// seconds, and reports if a busy machine needs more. do returns its stderr.
func delivered(t *testing.T, do func(c *collector) (stderr string)) *collector {
	t.Helper()
	for end := time.Now().Add(deadline); ; {
		c := newCollector(t)
		said := do(c)
		if !strings.Contains(said, "telemetry was not sent") {
			return c
		}
		require.True(t, time.Now().Before(end), said)
	}
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		in, _ = gzip.NewReader(r.Body)
	}
	body, err := io.ReadAll(in)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	c.headers = r.Header.Clone()
	switch r.URL.Path {
	case "/v1/traces":
		err = c.takeSpans(body)
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
}

func (c *collector) takeSpans(body []byte) error {
	var request traceservice.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		return err
	}
	for _, r := range request.ResourceSpans {
		c.service = attributes(r.Resource.Attributes)
		for _, s := range r.ScopeSpans {
			c.spans = append(c.spans, s.Spans...)
		}
	}
	return nil
}

func attributes(list []*common.KeyValue) map[string]string {
	out := make(map[string]string)
	for _, a := range list {
		if n, ok := a.Value.Value.(*common.AnyValue_IntValue); ok {
			out[a.Key] = string(rune('0' + n.IntValue))
			continue
		}
		out[a.Key] = a.Value.GetStringValue()
	}
	return out
}

func (c *collector) span(t *testing.T, name string) *trace.Span {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []*trace.Span
	for _, s := range c.spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	require.Len(t, found, 1, "spans named %s", name)
	return found[0]
}

func TestTelemetryOfCallsOnTheCommandLine(t *testing.T) {
	c := delivered(t, func(c *collector) string {
		dir := t.TempDir()
		plant(t, dir, texts{"a.txt": "planted-content\n"})
		cmd := program(t, dir, "call", "--toolset", "agentbench", "--session", "s", "read_file", "path=a.txt")
		cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-key=k1",
			"TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err)
		assert.Contains(t, string(out), "planted-content")
		return stderr.String()
	})

	call := c.span(t, "execute_tool read_file")
	assert.Equal(t, map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "read_file",
		"gen_ai.tool.call.id": "k7f2", "gen_ai.tool.type": "function",
		"toolhost.session": "s", "toolhost.step": "1", "toolhost.source": "plugin agentbench",
		"toolhost.outcome":  "success",
		"toolhost.decision": "allow", "toolhost.rule": "default",
	}, attributes(call.Attributes))
	assert.Equal(t, "0af7651916cd43dd8448eb211c80319c", hexOf(call.TraceId))
	assert.Equal(t, "b7ad6b7169203331", hexOf(call.ParentSpanId), "it belongs to the trace that the environment names")
	run := c.span(t, "run")
	assert.Equal(t, call.SpanId, run.ParentSpanId)
	assert.LessOrEqual(t, call.StartTimeUnixNano, run.StartTimeUnixNano)
	assert.GreaterOrEqual(t, call.EndTimeUnixNano, run.EndTimeUnixNano)
	require.Len(t, run.Events, 1, "the plugin's start is an event")
	assert.Equal(t, "plugin_started", run.Events[0].Name)
	assert.Equal(t, "toolhost", c.service["service.name"])
	assert.Equal(t, "k1", c.headers.Get("X-Key"))
	assert.NotContains(t, c.raw.String(), "planted-content", "contents are never sent")
	assert.NotContains(t, c.raw.String(), "a.txt", "parameters are never sent")

	c = delivered(t, func(c *collector) string {
		cmd := program(t, t.TempDir(), "call", "made_up_name")
		cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		return string(out)
	})
	assert.Equal(t, "not_found", attributes(c.span(t, "execute_tool made_up_name").Attributes)["error.type"])
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var s strings.Builder
	for _, x := range b {
		s.WriteByte(digits[x>>4])
		s.WriteByte(digits[x&15])
	}
	return s.String()
}

func TestTelemetryOfAServer(t *testing.T) {
	c := delivered(t, func(c *collector) string {
		cmd := program(t, t.TempDir(), "serve")
		cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_SERVICE_NAME=mine")
		s := serveCommand(t, cmd)
		s.hello()
		s.call("write_file", `{"path":"b.txt","content":"x"}`)
		s.call("read_file", `{"path":"none.txt"}`)
		s.call("read_file", `{}`)
		m := s.request("tools/call", map[string]any{
			"name": "list_files", "arguments": json.RawMessage(`{}`),
			"_meta": map[string]any{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
		})
		require.Nil(t, m.Error)
		assert.Equal(t, 0, s.end())
		return s.stderr.String()
	})

	listing := c.span(t, "tools/call list_files")
	assert.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", hexOf(listing.TraceId),
		"it belongs to the trace that the client names")
	assert.Equal(t, "00f067aa0ba902b7", hexOf(listing.ParentSpanId))
	writing := c.span(t, "tools/call write_file")
	assert.Empty(t, writing.ParentSpanId)
	c.mu.Lock()
	codes := make(map[string]int)
	for _, span := range c.spans {
		if code := attributes(span.Attributes)["error.type"]; code != "" {
			codes[code]++
			assert.Equal(t, trace.Status_STATUS_CODE_ERROR, span.Status.Code)
		}
	}
	c.mu.Unlock()
	assert.Equal(t, map[string]int{"not_found": 1, "invalid_argument": 1}, codes)
	assert.Equal(t, "mine", c.service["service.name"])
}

// A missing or hanging collector costs a bounded time at the end, and no call's result.
func TestTelemetryWithoutACollector(t *testing.T) {
	testneed.NotShort(t, "waits for a collector that is not there")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	for name, endpoint := range map[string]string{"nobody there": "http://127.0.0.1:1",
		"never answers": "http://" + silent.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			cmd := program(t, t.TempDir(), "call", "list_files")
			cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+endpoint)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			began := time.Now()
			out, err := cmd.Output()
			require.NoError(t, err)
			assert.Equal(t, "[]\n", string(out))
			assert.Less(t, time.Since(began), 40*time.Second)
			assert.Contains(t, stderr.String(), "telemetry was not sent")
		})
	}
}

// Without the variable nothing is started or sent.
func TestTelemetryIsOffByItself(t *testing.T) {
	c := newCollector(t)
	for _, env := range [][]string{
		{"OTEL_SERVICE_NAME=x"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_SDK_DISABLED=true"},
	} {
		cmd := program(t, t.TempDir(), "call", "list_files")
		cmd.Env = append(cmd.Env, env...)
		require.NoError(t, cmd.Run())
	}
	assert.Zero(t, c.raw.Len())
}
