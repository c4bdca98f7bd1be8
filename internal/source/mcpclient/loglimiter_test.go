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
	l := newLink(s)
	began := time.Now()
	for range 1000 {
		l.hear(strings.Repeat("x", 100_000))
	}
	periods := 1 + int(time.Since(began)/logPeriod)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.GreaterOrEqual(t, len(lines), maxLogLines+1)
	assert.LessOrEqual(t, len(lines), periods*(maxLogLines+1))
	assert.Contains(t, lines[maxLogLines], "says too much")
	assert.Less(t, log.Len(), periods*(maxLogLines+1)*(maxLogLength+300))

	ok, _ := s.logLimiter.allow(time.Now().Add(logPeriod))
	assert.True(t, ok, "it is heard again later")
}

func TestAllowanceOfSamples(t *testing.T) {
	dir := t.TempDir()
	serverOf := func() *server {
		c := New(Options{CacheDir: dir, Dir: "/w"})
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
}
