package project

import (
	"context"
	"time"
)

// tidyEvery is how long what is kept of the past may go on without a look at
// its age and size.
const tidyEvery = 12 * time.Hour

// stateAge is how long the entries of a session stay that never ended, as its
// process was killed, after it changed the last of them.
const stateAge = 30 * 24 * time.Hour

// Tidy drops undo history, old records and what sessions left beyond their bounds, when that was
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
	if _, err := p.store.DropOlder(ctx, time.Now().Add(-stateAge)); err != nil {
		p.options.Logger.DebugContext(ctx, "the state of old sessions was not dropped", "error", err)
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
