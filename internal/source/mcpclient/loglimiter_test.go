package mcpclient

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAServerThatSaysTooMuch(t *testing.T) {
	var log bytes.Buffer
	c := New(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, c.Add(Spec{Name: "loud", Command: []string{"none"}}))
	s, _ := c.servers.Find("loud")
	l, now := newConn(s), time.Now()
	c.now = func() time.Time { return now }
	for range 1000 {
		l.hear(strings.Repeat("x", 100_000))
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.Len(t, lines, maxLogLines+1)
	assert.Contains(t, lines[maxLogLines], "says too much")
	assert.Less(t, log.Len(), (maxLogLines+1)*(maxLogLength+300))

	ok, _ := s.logLimiter.allow(now.Add(logPeriod))
	assert.True(t, ok, "it is heard again later")
}

func TestAllowanceOfSamples(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	serverOf := func() *server {
		c := New(Options{CacheDir: dir, Dir: "/w"})
		c.now = func() time.Time { return now }
		require.NoError(t, c.Add(Spec{Name: "s", Command: []string{"none"}}))
		s, _ := c.servers.Find("s")
		return s
	}
	first, f := serverOf(), &pendingCall{}
	for range maxSamplesPerCall {
		require.NoError(t, first.maySample(f))
	}
	require.ErrorContains(t, first.maySample(f), "in a call")
	for range maxSamplesPerDay - maxSamplesPerCall {
		require.NoError(t, first.maySample(&pendingCall{}))
	}
	require.ErrorContains(t, first.maySample(&pendingCall{}), "a day")
	require.ErrorContains(t, serverOf().maySample(&pendingCall{}), "a day", "another process counts on")
	now = now.Add(24 * time.Hour)
	require.NoError(t, first.maySample(&pendingCall{}), "the next day has its own")
}
