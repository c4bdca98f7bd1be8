package mcpserve

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
)

// progress reports to the client, where it has asked for that, and never
// faster than it can read: a report that finds the last one still under way
// is dropped. A call that says nothing for a while is reported to be running
// still, so that a client's time limit does not end it. Stop sends the last
// report and ends the reporting.
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

// reporter sends the progress of one call.
type reporter struct {
	pending    chan tool.Progress
	quit, done chan struct{}
	started    time.Time
	send       func(*mcp.ProgressNotificationParams)

	last  float64 // what was sent; it only ever grows
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

// forward sends what the tool reports.
func (r *reporter) forward(p tool.Progress) {
	r.total, r.text = p.Total, p.Message
	r.grow(p.Done)
	r.send(&mcp.ProgressNotificationParams{Progress: r.last, Total: r.total, Message: r.text})
}

// beat sends that the call is running still: as seconds, or, where the tool
// counts in a unit of its own, as the least bit more of that.
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

// leastProgress is by how much a report grows that has nothing new to tell:
// the protocol wants every one to be more than the last.
const leastProgress = 1e-6

func (r *reporter) grow(to float64) {
	if to > r.last {
		r.last = to
		return
	}
	r.last += leastProgress
}
