package host

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// inFlight are the running calls.
type inFlight struct {
	mu    sync.Mutex
	calls map[*running]struct{}
}

type running struct {
	source atomic.Pointer[string] // of its tool; nil while unknown
	ended  chan struct{}
}

func (f *inFlight) enter() *running {
	r := &running{ended: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = make(map[*running]struct{})
	}
	f.calls[r] = struct{}{}
	return r
}

func (f *inFlight) leave(r *running) {
	close(r.ended)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, r)
}

// of returns the calls of tools of the sources; a call whose tool is unknown yet may be one.
func (f *inFlight) of(sources []string) []*running {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []*running
	for r := range f.calls {
		if source := r.source.Load(); source == nil || slices.Contains(sources, *source) {
			found = append(found, r)
		}
	}
	return found
}

// Settle waits until the running calls of tools of these sources have ended: after a Reload nothing uses the
// sources' earlier tools. It gives up when ctx ends.
func (h *Host) Settle(ctx context.Context, sources ...string) error {
	for _, r := range h.running.of(sources) {
		select {
		case <-r.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
