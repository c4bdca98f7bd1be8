package project

import (
	"context"
	"time"
)

// tidyEvery is the interval between checks of the age and size of past data.
const tidyEvery = 12 * time.Hour

// stateAge is how long a killed session's state stays after its last change.
const stateAge = 30 * 24 * time.Hour

// Tidy removes old undo history, records and session state, if not done lately; otherwise it only
// checks one file. Errors are only logged: they do not affect the ended call.
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

// KeepTidy is Tidy for a program that keeps running.
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
