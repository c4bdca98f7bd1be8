// Package supervisor starts and ends a peer, such as a plugin or MCP server: the first use starts its one
// process or connection for all waiting callers; a failing peer rests between attempts; an unused one ends.
package supervisor

import (
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Attempt is one process or connection of a peer.
type Attempt interface {
	comparable
	// Ready is closed when the start has succeeded or failed.
	Ready() <-chan struct{}
	// Failure returns why the start failed, nil if it succeeded.
	Failure() *tool.Error
	// Gone reports whether it has ended.
	Gone() bool
}

// Peer is what differs between kinds of peers. All methods but Lost are called with the lock held.
type Peer[A Attempt] interface {
	// Admit returns why nothing can be started, nil if it can.
	Admit() error
	// Begin starts an attempt in the background.
	Begin(ctx context.Context) A
	// Resting returns the error of a use that would wait longer than Patience.
	Resting(rest time.Duration) *tool.Error
	// Lost notes that an attempt is gone. It may be called repeatedly.
	Lost(a A)
}

// State is a peer's state.
type State string

// The states of a peer.
const (
	// Idle peers were not started yet, or have ended; the next use starts them.
	Idle     State = "idle"
	Starting State = "starting"
	Running  State = "running"
	// Failed peers could not be started, or were lost, the last time.
	Failed State = "failed"
	Closed State = "closed"
)

// Supervisor supervises a peer. The lock guards its fields and the peer's. Breaker and Patience must be set before
// the first use.
type Supervisor[A Attempt] struct {
	sync.Mutex
	Breaker Breaker
	// Patience is how long a use waits for its turn to start.
	Patience time.Duration
	// IdleTimeout is when an unused attempt is ended; 0 means never.
	IdleTimeout time.Duration

	// Current is starting or running; the zero value if there is none.
	Current A
	// LastError is why the last attempt failed to start or was lost.
	LastError *tool.Error
	// StartTook is how long the last start took.
	StartTook time.Duration
	// Starts counts attempts, Losses unexpected ends.
	Starts, Losses int
	IsClosed       bool

	ending sync.WaitGroup // of idle attempts
	active int            // current uses of Current
	idle   *time.Timer    // ends Current; nil while it is in use
}

// Acquire returns the running attempt, starting one if necessary. Concurrent callers share it. It is in use until
// Release.
func (l *Supervisor[A]) Acquire(ctx context.Context, p Peer[A]) (A, error) {
	var none A
	for {
		a, rest, err := l.pick(ctx, p)
		if err != nil {
			return none, err
		}
		if rest > 0 {
			if err := sleep(ctx, rest); err != nil {
				return none, err
			}
			continue
		}
		select {
		case <-a.Ready():
		case <-ctx.Done():
			return none, ctx.Err()
		}
		if failure := a.Failure(); failure != nil {
			return none, failure
		}
		if a.Gone() {
			p.Lost(a)
		} else if l.hold(a) {
			return a, nil
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pick returns the current attempt, begins one, or returns how long to rest first.
func (l *Supervisor[A]) pick(ctx context.Context, p Peer[A]) (a A, rest time.Duration, err error) {
	l.Lock()
	defer l.Unlock()
	if l.has() {
		return l.Current, 0, nil
	}
	if err := p.Admit(); err != nil {
		return a, 0, err
	}
	if rest := l.Breaker.Rest(time.Now()); rest > l.Patience {
		return a, 0, p.Resting(rest)
	} else if rest > 0 {
		return a, rest, nil
	}
	l.Current, l.active, l.idle = p.Begin(ctx), 0, nil
	l.Starts++
	return l.Current, 0, nil
}

func (l *Supervisor[A]) has() bool {
	var none A
	return l.Current != none
}

// hold keeps a from ending as idle. It fails if a is no longer current.
func (l *Supervisor[A]) hold(a A) bool {
	l.Lock()
	defer l.Unlock()
	if l.Current != a {
		return false
	}
	l.active++
	l.stopIdling()
	return true
}

func (l *Supervisor[A]) stopIdling() {
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
}

// Release ends a use begun by Acquire. After the last one, end is called once a was unused for the idle timeout; a
// is then no longer current.
func (l *Supervisor[A]) Release(a A, end func()) {
	l.Lock()
	defer l.Unlock()
	if l.Current != a {
		return // a is no longer counted
	}
	if l.active--; l.active == 0 && l.IdleTimeout > 0 {
		l.idle = time.AfterFunc(l.IdleTimeout, func() {
			l.Lock()
			unused := l.Current == a && l.active == 0 && !l.IsClosed
			if unused {
				l.drop(a)
				l.idle = nil
				l.ending.Add(1)
			}
			l.Unlock()
			if unused {
				end()
				l.ending.Done()
			}
		})
	}
}

// drop takes a out of use, if current. Must be called with the lock held.
func (l *Supervisor[A]) drop(a A) {
	if l.Current == a {
		l.Current = *new(A)
	}
}

// Fail notes that a cannot be used, and why. Unless counts is set the next attempt need not rest. Must be called
// with the lock held.
func (l *Supervisor[A]) Fail(a A, err *tool.Error, counts bool) {
	l.drop(a)
	if l.IsClosed {
		return
	}
	l.LastError = err
	if counts {
		l.Breaker.Fail(time.Now())
	}
}

// Lose notes that a has ended, because of err unless that was expected: the peer was closed or a was being stopped.
// It reports whether it was expected.
func (l *Supervisor[A]) Lose(a A, stopping bool, err *tool.Error) (expected bool) {
	l.Lock()
	defer l.Unlock()
	if stopping || l.IsClosed {
		l.drop(a)
		return true
	}
	l.Losses++
	l.Fail(a, err, true)
	return false
}

// Abandon takes a out of use because of err. It reports whether a was current.
func (l *Supervisor[A]) Abandon(a A, err *tool.Error) bool {
	l.Lock()
	defer l.Unlock()
	if l.Current != a {
		return false
	}
	l.Losses++
	l.Fail(a, err, true)
	return true
}

// Succeeded notes that the peer worked as expected.
func (l *Supervisor[A]) Succeeded() {
	l.Lock()
	defer l.Unlock()
	l.Breaker.Reset()
	l.LastError = nil
}

// Used reports whether an attempt was ever made.
func (l *Supervisor[A]) Used() bool {
	l.Lock()
	defer l.Unlock()
	return l.Starts > 0
}

// Shut prevents further attempts and returns the current one, which the caller must end.
func (l *Supervisor[A]) Shut() (a A) {
	l.Lock()
	defer l.Unlock()
	a = l.Current
	l.drop(a)
	l.IsClosed = true
	l.stopIdling()
	return a
}

// Wait waits until all idle attempts have ended. No attempt may begin afterwards.
func (l *Supervisor[A]) Wait() { l.ending.Wait() }

// Runs reports whether an attempt is running. Must be called with the lock held.
func (l *Supervisor[A]) Runs() bool {
	if !l.has() {
		return false
	}
	select {
	case <-l.Current.Ready():
		return l.Current.Failure() == nil
	default:
		return false
	}
}

// State returns the peer's state. Must be called with the lock held.
func (l *Supervisor[A]) State() State {
	switch {
	case l.IsClosed:
		return Closed
	case l.Runs():
		return Running
	case l.has():
		return Starting
	case l.LastError != nil:
		return Failed
	}
	return Idle
}

// RetryAt returns when the next attempt may begin, zero if now. Must be called with the lock held.
func (l *Supervisor[A]) RetryAt() (at time.Time) {
	if rest := l.Breaker.Rest(time.Now()); rest > 0 {
		at = time.Now().Add(rest)
	}
	return at
}
