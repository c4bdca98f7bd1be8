package project

import (
	"context"
	"time"
)

// tidyEvery is how long what is kept of the past may go on without a look at
// its age and size.
const tidyEvery = 12 * time.Hour

// Tidy drops undo history and old records beyond their bounds, when that was
// not done for a while. Otherwise it is one look at a file. What goes wrong is
// no concern of the call that just ended.
func (p *Project) Tidy(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	ran, err := p.Undo.PruneIfDue(ctx, tidyEvery)
	if err != nil {
		p.options.Logger.DebugContext(ctx, "the undo history was not pruned", "error", err)
	}
	p.ignoreState()
	if !ran {
		return
	}
	if _, err := p.Recorder.Prune(p.RecordLimits()); err != nil {
		p.options.Logger.DebugContext(ctx, "the record was not pruned", "error", err)
	}
}

// KeepTidy is Tidy for a program that runs on.
func (p *Project) KeepTidy(ctx context.Context) {
	for {
		p.Tidy(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(tidyEvery):
		}
	}
}
