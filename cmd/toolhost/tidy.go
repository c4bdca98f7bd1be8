package main

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/host/record"
)

// tidyEvery is how long what is kept of the past may go on without a look at
// its age and size.
const tidyEvery = 12 * time.Hour

// tidy drops undo history and old records beyond their bounds, when that was
// not done for a while. Otherwise it is one look at a file. What goes wrong is
// no concern of the call that just ended.
func (p *project) tidy(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	ran, err := p.undo.PruneIfDue(ctx, tidyEvery)
	if err != nil {
		p.app.logger.DebugContext(ctx, "the undo history was not pruned", "error", err)
	}
	if ran || p.app.flags.artifacts != "" {
		p.ignoreState()
	}
	if !ran {
		return
	}
	if _, err := p.recorder.Prune(record.Limits{}); err != nil {
		p.app.logger.DebugContext(ctx, "the record was not pruned", "error", err)
	}
}

// keepTidy is tidy for a program that runs on.
func (p *project) keepTidy(ctx context.Context) {
	for {
		p.tidy(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(tidyEvery):
		}
	}
}
