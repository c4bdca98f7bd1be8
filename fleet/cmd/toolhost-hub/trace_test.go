package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/gateway"
	"github.com/toolhost/toolhost/fleet/internal/hub"
	"github.com/toolhost/toolhost/fleet/internal/worker"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
	"github.com/toolhost/toolhost/internal/face/telemetry"
	"github.com/toolhost/toolhost/internal/face/telemetry/otlp"
)

// sendsSpans makes the test binary run as toolhost-otel.
const sendsSpans = "TOOLHOST_HUB_TEST_OTEL"

func sendSpans() int {
	complain := func(err error) { fmt.Fprintln(os.Stderr, err) }
	if err := otlp.Serve(context.Background(), os.Stdin, otlp.Options{Complain: complain}); err != nil {
		complain(err)
		return 1
	}
	return 0
}

// collector keeps the spans that it receives, by name.
type collector struct {
	mu    sync.Mutex
	spans map[string]*trace.Span
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	in := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		in, _ = gzip.NewReader(r.Body)
	}
	var request traceservice.ExportTraceServiceRequest
	data, err := io.ReadAll(in)
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(data, &request) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans[span.Name] = span
			}
		}
	}
}

func (c *collector) span(name string) *trace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spans[name]
}

// A gateway's and its worker's spans of a call form one trace: the client's if it names one.
func TestOneTrace(t *testing.T) {
	const theirs, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for _, tt := range []struct {
		name, trace, parent string
		meta                mcp.Meta
	}{
		{"a new one", "", "", nil},
		{"the client's", theirs, span, mcp.Meta{"traceparent": "00-" + theirs + "-" + span + "-01"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &collector{spans: make(map[string]*trace.Span)}
			server := httptest.NewServer(c)
			t.Cleanup(server.Close)
			t.Setenv(sendsSpans, "1")
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
			t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
			self, err := os.Executable()
			require.NoError(t, err)
			start := func() *telemetry.Relay {
				relay, err := telemetry.Start(telemetry.Options{Binary: self, Patience: waits})
				require.NoError(t, err)
				t.Cleanup(func() { relay.Close(context.Background()) })
				return relay
			}
			ofWorker, ofGateway := start(), start()
			f := newInside(t, notes, "", func(o *worker.Options) { o.Telemetry = ofWorker })
			g, err := gateway.Start(t.Context(), gateway.Options{Link: f.link(hub.RoleGateway), Telemetry: ofGateway,
				Config: gateway.Open(fleet.Workspace{Empty: true, Config: filepath.Join(f.home, "agent.hcl")}),
				Logger: discard})
			require.NoError(t, err)
			t.Cleanup(g.Close)
			f.waitFor(func() bool { return len(g.Workers()) == 1 })
			handler := mcpserve.NewHTTP(nil, mcpserve.HTTPOptions{Backend: g, Logger: discard})
			t.Cleanup(handler.Close)
			web := httptest.NewServer(handler)
			t.Cleanup(web.Close)
			result := callTool(t, session(t, web.URL), "note", note("one"), tt.meta)
			require.False(t, result.IsError, text(result))
			require.Equal(t, "one", strings.TrimSpace(text(result)))
			f.waitFor(func() bool { return c.span("gateway tools/call note") != nil && c.span("tools/call note") != nil })
			at, below := c.span("gateway tools/call note"), c.span("tools/call note")
			assert.Equal(t, at.TraceId, below.TraceId)
			assert.Equal(t, at.SpanId, below.ParentSpanId)
			assert.Equal(t, tt.parent, fmt.Sprintf("%x", at.ParentSpanId))
			if tt.trace != "" {
				assert.Equal(t, tt.trace, fmt.Sprintf("%x", at.TraceId))
			}
		})
	}
}
