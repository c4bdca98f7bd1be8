package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/fleet/internal/worker"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

func (f *inside) get(path string) (int, string) {
	f.t.Helper()
	answer, err := http.Get(strings.TrimSuffix(f.url, "/mcp") + path)
	require.NoError(f.t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(f.t, err)
	return answer.StatusCode, string(data)
}

// What probes and Prometheus request from a gateway.
func TestOperations(t *testing.T) {
	f := newInside(t, notes, "")
	status, text := f.get("/healthz")
	assert.Equal(t, http.StatusOK, status, text)
	status, text = f.get("/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, text, "no worker")
	w := f.start1(discard, plain)
	f.waitFor(func() bool { status, _ := f.get("/readyz"); return status == http.StatusOK })
	callTool(t, session(t, f.url), "note", note("one"), nil)
	f.waitFor(func() bool { // a client may have its result before the call is counted
		status, text = f.get("/metrics")
		return strings.Contains(text, "toolhost_fleet_call_seconds_count 1\n")
	})
	assert.Equal(t, http.StatusOK, status)
	for _, line := range []string{"toolhost_fleet_calls_total 1", "toolhost_fleet_workers 1", "toolhost_fleet_slots 4",
		"toolhost_fleet_calls_lost_total 0", `toolhost_fleet_call_seconds_bucket{le="+Inf"} 1`,
		"toolhost_fleet_call_seconds_count 1"} {
		assert.Contains(t, text, line+"\n")
	}
	f.hub.Shutdown()
	f.waitFor(func() bool { status, _ := f.get("/readyz"); return status == http.StatusServiceUnavailable })
	w.Kill() // draining would try the hub's port for half a minute, which another program may have by then
}

// A worker runs as many calls as it has slots, queues some, and refuses the rest.
func TestBusy(t *testing.T) {
	f := newInside(t, holds, "", func(o *worker.Options) { o.Slots, o.Queue = 1, 1 })
	s := session(t, f.url)
	results := make(chan *mcp.CallToolResult, 2)
	start := func() {
		results <- callTool(t, s, "hold", map[string]any{"file": "go"}, nil)
	}
	go start()
	f.waitFor(f.running(1))
	go start()
	f.waitFor(func() bool {
		for _, beat := range f.gateway.Workers() {
			return beat.Queued == 1
		}
		return false
	})
	result := callTool(t, s, "hold", map[string]any{"file": "go"}, nil)
	assert.True(t, result.IsError)
	assert.Equal(t, string(fleet.CodeBusy), result.Meta[fleet.OutcomeMeta])
	assert.Contains(t, text(result), "Nothing was run. Try again in 1s")
	f.release("go")
	for range 2 {
		result := testproc.Receive(t, results, "a result")
		assert.Equal(t, "held", strings.TrimSpace(text(result)))
	}
	_, metrics := f.get("/metrics")
	assert.Contains(t, metrics, "toolhost_fleet_busy_total 1\n")
}

// A call that the client cancels ends on its worker.
func TestCancelThrough(t *testing.T) {
	f := newInside(t, holds, "", plain)
	s := session(t, f.url)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "hold", Arguments: map[string]any{"file": "never"}})
		ended <- err
	}()
	f.waitFor(f.running(1))
	cancel()
	require.Error(t, testproc.Receive(t, ended, "the end of the call"))
	f.waitFor(f.running(0))
}

const asks = `
tool "note" {
  description = "Append a line to notes.txt. Returns: all lines."
  risk        = "dangerous"
  param "text" {}
  command { argv = ["sh", "-c", "echo \"$1\" >> notes.txt; cat notes.txt", "sh", param.text] }
}
resource "notes" {
  uri  = "doc://notes"
  file = "notes.txt"
}
policy {
  dangerous = "ask"
}
`

// Questions go to the client and back, and resources are read.
func TestQuestionsThrough(t *testing.T) {
	f := newInside(t, asks, "", plain)
	var asked atomic.Int32
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if asked.Add(1) == 2 {
				return &mcp.ElicitResult{Action: "decline"}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "once"}}, nil
		},
	})
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: f.url}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	result := callTool(t, s, "note", note("one"), named("a"))
	assert.Equal(t, "one", strings.TrimSpace(text(result)), "allowed")
	assert.Equal(t, int32(1), asked.Load())
	again := callTool(t, s, "note", note("one"), named("a"))
	assert.Equal(t, "stored", again.Meta[fleet.OutcomeMeta], "and not asked again: %s", text(again))
	assert.Equal(t, int32(1), asked.Load())
	result = callTool(t, s, "note", note("two"), named("b"))
	assert.True(t, result.IsError, "refused: %s", text(result))
	assert.Equal(t, int32(2), asked.Load())
	read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "doc://notes"})
	require.NoError(t, err)
	assert.Equal(t, "one\n", read.Contents[0].Text)
}

// A large result comes back whole, and is stored with its call.
func TestLargeResult(t *testing.T) {
	f := newInside(t, strings.Replace(holds, "echo held", "head -c 400000 /dev/zero | tr '\\\\0' x", 1)+
		"limits {\n output = \"4MiB\"\n}\n", "", plain)
	s := session(t, f.url)
	arguments := map[string]any{"file": "began"}
	first := callTool(t, s, "hold", arguments, named("a"))
	require.False(t, first.IsError, text(first))
	require.Greater(t, len(text(first)), 390_000)
	again := callTool(t, s, "hold", arguments, named("a"))
	assert.Equal(t, "stored", again.Meta[fleet.OutcomeMeta])
	assert.Equal(t, text(first), text(again))
}
