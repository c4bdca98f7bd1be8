package mcpclient

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/face/show"
)

// Limits of a server's lines in the host's log: lines per period, and bytes of a line.
const (
	maxLogLines  = 100
	logPeriod    = 10 * time.Second
	maxLogLength = 2000
)

// logLimiter counts a server's lines in the current period.
type logLimiter struct {
	mu    sync.Mutex
	since time.Time
	lines int
}

// allow reports whether one more line may be logged now, and whether it is the first over the limit.
func (c *logLimiter) allow(now time.Time) (ok, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.since) >= logPeriod {
		c.since, c.lines = now, 0
	}
	c.lines++
	return c.lines <= maxLogLines, c.lines == maxLogLines+1
}

// say logs a server's output within the limits.
func (c *conn) say(level slog.Level, text string, more ...any) {
	logger, name := c.server.client.logger, c.server.spec.Name
	ok, first := c.server.logLimiter.allow(c.server.client.now())
	if first {
		logger.Warn("an MCP server says too much: lines are left out", "server", name, "a_period", logPeriod)
	}
	if !ok {
		return
	}
	if said := c.server.client.options.Said; said != nil {
		said(name, text)
	}
	logger.Log(context.Background(), level, show.SanitizeLine(text, maxLogLength),
		append([]any{"server", name}, more...)...)
}
