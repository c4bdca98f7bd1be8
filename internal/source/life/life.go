// Package life is the life of a peer, such as a plugin or an MCP server: its one
// process or connection is started by the first use, once for all who wait for
// it; a peer that keeps failing rests between attempts; what nobody uses ends;
// and the first to see that it is gone notes it.
package life

import (
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Attempt is one process or connection of a peer, from its start to its end.
type Attempt interface {
	comparable
	// Ready is closed when the start has succeeded or failed.
	Ready() <-chan struct{}
	// Failure is why the start failed, nil when it succeeded.
	Failure() *tool.Error
	// Gone reports whether what was started has ended.
	Gone() bool
}

// Peer is what differs between kinds of peers. All but Lost are called with the
// lock held.
type Peer[A Attempt] interface {
	// Admit says why nothing can be started, nil when it can.
	Admit() error
	// Begin makes an attempt and starts it in the background.
	Begin(ctx context.Context) A
	// Resting is the error of a use that would have to wait for longer than
	// Patience.
	Resting(rest time.Duration) *tool.Error
	// Lost notes that an attempt is gone. It may be called more than once.
	Lost(a A)
}

// State is what a peer is doing.
type State string

// The states of a peer.
const (
	// Idle peers have not been started yet, or have ended and are started by the
	// next use.
	Idle     State = "idle"
	Starting State = "starting"
	Running  State = "running"
	// Failed peers could not be started, or were lost, the last time.
	Failed State = "failed"
	Closed State = "closed"
)

// Life is a peer's. The lock guards its fields and what the peer has beside them.
// Breaker and Patience have to be set before the first use.
type Life[A Attempt] struct {
	sync.Mutex
	Breaker Breaker
	// Patience is how long a use waits for its turn to start.
	Patience time.Duration
	// IdleTimeout is after what time without a use an attempt is ended; 0 is never.
	IdleTimeout time.Duration

	// Current is being started or runs; the zero value is none.
	Current A
	// LastError is why it could not be started, or was lost, the last time.
	LastError *tool.Error
	// StartTook is how long the last start took.
	StartTook time.Duration
	// Starts and Losses count attempts, and those that ended by themselves.
	Starts, Losses int
	IsClosed       bool

	ending sync.WaitGroup // of attempts that nobody used
	active int            // uses of Current that go on
	idle   *time.Timer    // ends Current; nil while it is in use
}

// Acquire gives the attempt that runs, after one was started if there was none.
// Callers that come meanwhile wait for the same one. It is in use until Release.
func (l *Life[A]) Acquire(ctx context.Context, p Peer[A]) (A, error) {
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

// pick gives the current attempt, or begins one, or says how long to rest before
// one may begin.
func (l *Life[A]) pick(ctx context.Context, p Peer[A]) (a A, rest time.Duration, err error) {
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

func (l *Life[A]) has() bool {
	var none A
	return l.Current != none
}

// hold keeps a from being ended for being idle. It fails when a is no longer
// current.
func (l *Life[A]) hold(a A) bool {
	l.Lock()
	defer l.Unlock()
	if l.Current != a {
		return false
	}
	l.active++
	l.stopIdling()
	return true
}

func (l *Life[A]) stopIdling() {
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
}

// Release is the end of a use that Acquire began. After the last, end is called
// when nobody has used a for the idle timeout; a is not current any more then.
func (l *Life[A]) Release(a A, end func()) {
	l.Lock()
	defer l.Unlock()
	if l.Current != a {
		return // its successor counts again
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

// drop takes a out of use, if it is current. The lock is held.
func (l *Life[A]) drop(a A) {
	if l.Current == a {
		l.Current = *new(A)
	}
}

// Fail notes that a cannot be used, and why. Where counts is false the next
// attempt need not rest for it. The lock is held.
func (l *Life[A]) Fail(a A, err *tool.Error, counts bool) {
	l.drop(a)
	if l.IsClosed {
		return
	}
	l.LastError = err
	if counts {
		l.Breaker.Fail(time.Now())
	}
}

// Lose notes that a has ended, because of err unless that was to be expected:
// when the peer was closed or a was being stopped. It reports whether it was.
func (l *Life[A]) Lose(a A, stopping bool, err *tool.Error) (expected bool) {
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
func (l *Life[A]) Abandon(a A, err *tool.Error) bool {
	l.Lock()
	defer l.Unlock()
	if l.Current != a {
		return false
	}
	l.Losses++
	l.Fail(a, err, true)
	return true
}

// Succeeded notes that the peer did what it was asked for.
func (l *Life[A]) Succeeded() {
	l.Lock()
	defer l.Unlock()
	l.Breaker.Reset()
	l.LastError = nil
}

// Used reports whether an attempt was ever made.
func (l *Life[A]) Used() bool {
	l.Lock()
	defer l.Unlock()
	return l.Starts > 0
}

// Shut has no further attempt begin. It gives the current one, which the caller
// ends.
func (l *Life[A]) Shut() (a A) {
	l.Lock()
	defer l.Unlock()
	a = l.Current
	l.drop(a)
	l.IsClosed = true
	l.stopIdling()
	return a
}

// Wait returns when all attempts that nobody used have ended. Nothing may begin any
// more.
func (l *Life[A]) Wait() { l.ending.Wait() }

// Runs reports whether there is an attempt that succeeded. The lock is held.
func (l *Life[A]) Runs() bool {
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

// State is what the peer is doing. The lock is held.
func (l *Life[A]) State() State {
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

// RetryAt is when the next attempt may begin, zero when it may now. The lock is
// held.
func (l *Life[A]) RetryAt() (at time.Time) {
	if rest := l.Breaker.Rest(time.Now()); rest > 0 {
		at = time.Now().Add(rest)
	}
	return at
}
