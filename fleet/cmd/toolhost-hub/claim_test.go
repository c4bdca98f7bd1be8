package main

import (
	"bytes"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/fleet/internal/worker"
)

// deaf is a connection that receives nothing after it has sent a claim.
type deaf struct {
	net.Conn
	claimed *atomic.Int32
	mute    atomic.Bool
}

func (d *deaf) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"state":"running"`)) && d.claimed.Add(1) == 1 {
		d.mute.Store(true)
	}
	return d.Conn.Write(p)
}

func (d *deaf) Read(p []byte) (int, error) {
	for {
		n, err := d.Conn.Read(p)
		if err != nil || !d.mute.Load() {
			return n, err
		}
	}
}

// If the hub's answer to a claim is lost, nothing ran: the repeated call runs, and
// is not reported as lost.
func TestAnswerToClaimIsLost(t *testing.T) {
	var claimed atomic.Int32
	f := newInside(t, notes, "", func(o *worker.Options) {
		url := strings.TrimPrefix(o.Link.URL, "nats://")
		o.Link.Dial = func() (net.Conn, error) {
			conn, err := net.Dial("tcp", url)
			return &deaf{Conn: conn, claimed: &claimed}, err
		}
	})
	s := session(t, f.url)
	result := callTool(t, s, "note", note("one"), named("a"))
	require.Equal(t, int32(1), claimed.Load())
	require.True(t, result.IsError, "the claim's answer was lost")
	assert.Contains(t, text(result), "was not run")
	result = callTool(t, s, "note", note("one"), named("a"))
	assert.False(t, result.IsError, text(result))
	assert.Equal(t, "one", strings.TrimSpace(text(result)))
	assert.Equal(t, "one\ntwo", strings.TrimSpace(text(callTool(t, s, "note", note("two"), named("b")))))
}
