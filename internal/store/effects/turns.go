package effects

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/internal/run/watch"
)

// Turns watches a process that calls use in turns, such as a persistent shell. Its changes belong to the call
// whose turn it is, or was last. It implements watch.Watcher.
type Turns struct {
	held func() []string

	mu sync.RWMutex
	// now gets the changes, unless nil. ours is set if we must report its end.
	now     *Call
	ours    bool
	changed bool
	over    bool
	missed  []string
}

// NewTurns returns the watcher of such a process. held returns the files that it has open for writing: later
// writes to them are not announced.
func NewTurns(held func() []string) *Turns { return &Turns{held: held} }

// Enter gives the turn to the call of a context; leave ends it.
func (t *Turns) Enter(ctx context.Context) (leave func()) {
	c := From(ctx)
	if c == nil {
		return func() {}
	}
	t.turn(c, false)
	return func() { t.turn(c.Detach(), true) }
}

func (t *Turns) turn(next *Call, ours bool) {
	t.mu.Lock()
	changed, missed := t.changed, t.missed
	t.mu.Unlock()
	if next != nil {
		next.Begin()()
		for _, why := range missed {
			next.Missed(why)
		}
	}
	t.mu.Lock()
	last, end := t.now, t.ours
	if t.over && ours {
		next = nil
	}
	t.now, t.ours = next, ours
	t.mu.Unlock()
	if changed && next != nil {
		next.hold(t.held())
	}
	if last != nil && end {
		last.End()
	}
}

// hold records the content of files that are open for writing.
func (c *Call) hold(paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range paths {
		if name, ok := c.trees.name(path); ok {
			c.beforeLink(name, watch.Content)
		}
	}
}

// Begin implements watch.Watcher.
func (t *Turns) Begin() (done func()) {
	return func() {
		t.mu.Lock()
		last, end := t.now, t.ours
		t.over = true
		if end {
			t.now = nil
		}
		t.mu.Unlock()
		if last != nil && end {
			last.End()
		}
	}
}

// Active implements watch.Watcher.
func (t *Turns) Active() bool { return true }

// with calls do with the call that gets the changes.
func (t *Turns) with(do func(c *Call)) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.now != nil {
		do(t.now)
	}
}

// Wants implements watch.Watcher.
func (t *Turns) Wants(path string, what watch.What) (wanted bool) {
	t.with(func(c *Call) { wanted = c.Wants(path, what) })
	return wanted
}

// Before implements watch.Watcher.
func (t *Turns) Before(at watch.Place, what watch.What) {
	t.withLock(func() { t.changed = true })
	t.with(func(c *Call) { c.Before(at, what) })
}

// Rename implements watch.Watcher.
func (t *Turns) Rename(from, to watch.Place, exchange bool) {
	t.with(func(c *Call) { c.Rename(from, to, exchange) })
}

// Missed implements watch.Watcher. It applies to all following calls.
func (t *Turns) Missed(why string) {
	t.withLock(func() { t.missed = append(t.missed, why) })
	t.with(func(c *Call) { c.Missed(why) })
}

func (t *Turns) withLock(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	do()
}
