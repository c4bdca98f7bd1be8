package effects

import (
	"os/exec"
	"sync"

	"github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// Calls are the calls in progress in a process.
type Calls struct {
	mu    sync.Mutex
	calls map[*Call]bool
	lives int // processes that serve many calls
}

// Enter notes that a call begins, leave that it has ended.
func (s *Calls) Enter(c *Call) (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = make(map[*Call]bool)
	}
	s.calls[c] = true
	if s.lives > 0 {
		c.rules()
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.calls, c)
	}
}

// live counts processes that serve many calls. Their changes may belong to any call in progress.
func (s *Calls) live(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lives += n
	for c := range s.calls {
		c.rules()
	}
}

// only returns the single call in progress, or nil.
func (s *Calls) only() *Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) != 1 {
		return nil
	}
	for c := range s.calls {
		return c
	}
	return nil
}

// Lifetime watches a process that serves many calls: its changes belong to the call in progress, or else to a
// call of its own, which ends with it.
type Lifetime struct {
	calls *Calls
	own   *Call
}

// NewLifetime returns the watcher of such a process.
func NewLifetime(calls *Calls, store *undo.Store, own undo.Call, trees Trees) *Lifetime {
	return &Lifetime{calls: calls, own: New(store, own, trees)}
}

// Attach makes the sandbox of the process watch it, as watch.Attach does.
func (l *Lifetime) Attach(cmd *exec.Cmd) (detach func()) { return watch.Attach(cmd, l) }

func (l *Lifetime) now() *Call {
	if c := l.calls.only(); c != nil {
		return c
	}
	return l.own
}

// Begin implements watch.Watcher.
func (l *Lifetime) Begin() (done func()) {
	ended := l.own.Begin()
	l.calls.live(1)
	return func() {
		l.calls.live(-1)
		ended()
		l.own.End()
	}
}

// Active implements watch.Watcher.
func (l *Lifetime) Active() bool { return l.own.Active() }

// Wants implements watch.Watcher.
func (l *Lifetime) Wants(path string, what watch.What) bool { return l.now().Wants(path, what) }

// Before implements watch.Watcher.
func (l *Lifetime) Before(at watch.Place, what watch.What) { l.report(before(at, what)) }

// Rename implements watch.Watcher.
func (l *Lifetime) Rename(from, to watch.Place, exchange bool) { l.report(renamed(from, to, exchange)) }

// Missed implements watch.Watcher.
func (l *Lifetime) Missed(why string) { l.report(func(c *Call) { c.miss(why) }) }

// report passes a report to the call in progress, or if that ends meanwhile to the process's own.
func (l *Lifetime) report(take func(*Call)) {
	if !l.now().report(take) {
		l.own.report(take)
	}
}
