package effects

import (
	"os/exec"
	"sync"

	"github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// Calls are those in progress in a process.
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

// only is the single call in progress, if any.
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

// Life watches a process that serves many calls: its changes belong to the call in progress, or else to a call of
// its own, which ends with it.
type Life struct {
	calls *Calls
	own   *Call
}

// NewLife returns the watcher of such a process.
func NewLife(calls *Calls, store *undo.Store, own undo.Call, trees Trees) *Life {
	return &Life{calls: calls, own: New(store, own, trees)}
}

// Attach makes the sandbox of the process watch it, as watch.Attach does.
func (l *Life) Attach(cmd *exec.Cmd) (detach func()) { return watch.Attach(cmd, l) }

func (l *Life) now() *Call {
	if c := l.calls.only(); c != nil {
		return c
	}
	return l.own
}

// Begin implements watch.Watcher.
func (l *Life) Begin() (done func()) {
	ended := l.own.Begin()
	l.calls.live(1)
	return func() {
		l.calls.live(-1)
		ended()
		l.own.End()
	}
}

// Began implements watch.Watcher.
func (l *Life) Began() bool { return l.own.Began() }

// Wants implements watch.Watcher.
func (l *Life) Wants(path string, what watch.What) bool { return l.now().Wants(path, what) }

// Before implements watch.Watcher.
func (l *Life) Before(at watch.Place, what watch.What) { l.report(before(at, what)) }

// Rename implements watch.Watcher.
func (l *Life) Rename(from, to watch.Place, exchange bool) { l.report(renamed(from, to, exchange)) }

// Missed implements watch.Watcher.
func (l *Life) Missed(why string) { l.report(func(c *Call) { c.miss(why) }) }

// report passes a report to the call in progress, or if that ends meanwhile to the process's own.
func (l *Life) report(take func(*Call)) {
	if !l.now().report(take) {
		l.own.report(take)
	}
}
