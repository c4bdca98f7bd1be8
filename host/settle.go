package host

import (
	"context"
	"sync"
)

// inFlight are the calls that run now.
type inFlight struct {
	mu    sync.Mutex
	calls map[chan struct{}]struct{}
}

// enter notes a call until the function it gives is called.
func (f *inFlight) enter() (leave func()) {
	done := make(chan struct{})
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = make(map[chan struct{}]struct{})
	}
	f.calls[done] = struct{}{}
	return func() {
		close(done)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.calls, done)
	}
}

func (f *inFlight) now() []chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	running := make([]chan struct{}, 0, len(f.calls))
	for done := range f.calls {
		running = append(running, done)
	}
	return running
}

// Settle waits until every call that runs now has ended: after Reload, until
// no call uses the old tools any more. It gives up when ctx ends.
func (h *Host) Settle(ctx context.Context) error {
	for _, done := range h.running.now() {
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
