package mcpserve

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
)

// progress reports to a client that asked for it, never faster than it reads: a report is dropped while
// the last is under way. A silent call is reported as running, to prevent a timeout. stop sends the
// last report.
func (s *Server) progress(ctx context.Context, in *requestInfo) (report func(tool.Progress), stop func()) {
	if in.token == nil {
		return nil, func() {}
	}
	r := &reporter{
		pending: make(chan tool.Progress, 1), quit: make(chan struct{}), done: make(chan struct{}), started: time.Now(),
		send: func(p *mcp.ProgressNotificationParams) {
			p.ProgressToken = in.token
			_ = in.session.NotifyProgress(ctx, p)
		},
	}
	go r.run(ctx, s.options.Heartbeat)
	return r.report, r.stop
}

type reporter struct {
	pending    chan tool.Progress
	quit, done chan struct{}
	started    time.Time
	send       func(*mcp.ProgressNotificationParams)

	last  float64 // sent; must only grow
	total float64
	text  string
}

func (r *reporter) report(p tool.Progress) {
	select {
	case r.pending <- p:
	default:
	}
}

func (r *reporter) stop() {
	close(r.quit)
	<-r.done
}

func (r *reporter) run(ctx context.Context, heartbeat time.Duration) {
	defer close(r.done)
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-r.pending:
			r.forward(p)
			ticker.Reset(heartbeat)
		case <-ticker.C:
			r.beat()
		case <-r.quit:
			select {
			case p := <-r.pending:
				r.forward(p)
			default:
			}
			return
		}
	}
}

func (r *reporter) forward(p tool.Progress) {
	r.total, r.text = p.Total, p.Message
	r.grow(p.Done)
	r.send(&mcp.ProgressNotificationParams{Progress: r.last, Total: r.total, Message: r.text})
}

// beat reports that the call is running: in seconds or, if the tool has its own unit, by leastProgress
// more.
func (r *reporter) beat() {
	elapsed := time.Since(r.started)
	text := fmt.Sprintf("still running after %s", elapsed.Round(time.Second))
	if r.text != "" {
		text = r.text + " (" + text + ")"
	}
	if r.total == 0 {
		r.grow(max(elapsed.Seconds(), r.last))
	} else {
		r.grow(r.last)
	}
	r.send(&mcp.ProgressNotificationParams{Progress: r.last, Total: r.total, Message: text})
}

// leastProgress is the growth of a report without news: the protocol requires each to exceed the last.
const leastProgress = 1e-6

func (r *reporter) grow(to float64) {
	if to > r.last {
		r.last = to
		return
	}
	r.last += leastProgress
}
