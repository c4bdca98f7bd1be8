package project

import (
	"context"
	"os"
	"sync"
	"time"
)

// WatchInterval is how often files are checked for changes.
const WatchInterval = 500 * time.Millisecond

type stamp struct {
	size     int64
	modified time.Time
}

// look polls files for changes: they are few, and that works on every file system and for every way of saving.
type look struct {
	files   func() []string
	changed func()

	mu   sync.Mutex
	last map[string]stamp
}

func newLook(files func() []string, changed func()) *look {
	return &look{files: files, changed: changed, last: stamps(files())}
}

// again calls changed if a file has changed since the last time.
func (l *look) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := stamps(l.files()); !same(l.last, now) {
		l.last = now
		l.changed()
	}
}

// every calls again every WatchInterval until ctx ends.
func every(ctx context.Context, again func()) {
	ticker := time.NewTicker(WatchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			again()
		}
	}
}

func stamps(files []string) map[string]stamp {
	all := make(map[string]stamp, len(files))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			all[file] = stamp{info.Size(), info.ModTime()}
		}
	}
	return all
}

func same(a, b map[string]stamp) bool {
	if len(a) != len(b) {
		return false
	}
	for file, s := range a {
		if other, ok := b[file]; !ok || other.size != s.size || !other.modified.Equal(s.modified) {
			return false
		}
	}
	return true
}

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
