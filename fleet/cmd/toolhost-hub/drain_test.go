package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/worker"
	"github.com/toolhost/toolhost/internal/test/testproc"
)

// A worker drained while it packs a workspace gives it up only when all is packed:
// nothing acknowledged is missing later.
func TestDrainWhilePacking(t *testing.T) {
	f := newInside(t, notes, "")
	at := f.start1(discard, func(o *worker.Options) { o.PackAfter = 0 })
	f.waitFor(func() bool { return len(f.gateway.Workers()) == 1 })
	s := session(t, f.url)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("n", i))
		result := callTool(t, s, "note", note(want[i]), nil)
		require.False(t, result.IsError, text(result))
		assert.Equal(t, want, strings.Fields(text(result)))
		next := f.start1(discard, func(o *worker.Options) { o.PackAfter = 0 })
		at.Close()
		at = next
	}
}

// A worker that is drained twice, and ended meanwhile, lets its calls end.
func TestDrainedTwice(t *testing.T) {
	f := newInside(t, holds, "")
	at := f.start1(discard, plain)
	f.waitFor(func() bool { return len(f.gateway.Workers()) == 1 })
	name := openSession(t, f.url)
	called := make(chan string, 1)
	go func() {
		_, _, text := send(t, f.url, "", name, `{"jsonrpc":"2.0","id":8,"method":"tools/call",`+
			`"params":{"name":"hold","arguments":{"file":"go"}}}`)
		called <- text
	}()
	f.waitFor(f.running(1))
	for range 2 {
		require.NoError(t, f.gateway.Steer(t.Context(), "drain", string(at.Name())))
	}
	f.waitFor(func() bool { return f.gateway.Workers()[at.Name()].Draining })
	ended := make(chan struct{})
	go func() {
		at.Wait(t.Context())
		close(ended)
	}()
	closed := make(chan struct{})
	go func() {
		at.Close()
		close(closed)
	}()
	select {
	case <-closed:
		t.Error("the worker ended before its call")
	case <-time.After(500 * time.Millisecond):
	}
	f.release("go")
	assert.Contains(t, testproc.Receive(t, called, "the answer"), "held")
	for _, end := range []chan struct{}{closed, ended} {
		testproc.Receive(t, end, "the end of the worker")
	}
}
