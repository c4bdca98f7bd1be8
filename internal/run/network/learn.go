package network

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"time"
)

// ErrUndecided says that nobody has decided on a connection.
var ErrUndecided = errors.New("no one was there to allow it")

const (
	// mostAsked bounds the hosts that a person is asked about for a call.
	mostAsked = 50
	// undecidedFor is how long an undecided question is not repeated.
	undecidedFor = 5 * time.Second
)

// answer is the decision on one host and port, once done is closed.
type answer struct {
	done     chan struct{}
	approved string
	err      error
	at       time.Time
}

// ask asks a person about a connection. Those to the same host and port wait for one answer, which holds for
// the call.
func (l *Log) ask(ctx context.Context, host string, port uint16) (approved string, err error) {
	if l == nil || l.Ask == nil {
		return "", ErrUndecided
	}
	to := net.JoinHostPort(host, strconv.Itoa(int(port)))
	l.mu.Lock()
	a := l.answers[to]
	switch {
	case a != nil && !a.old():
	case a == nil && len(l.answers) >= mostAsked:
		l.mu.Unlock()
		return "", errors.New("its processes want to reach too many hosts")
	default:
		if l.answers == nil {
			l.answers = make(map[string]*answer)
		}
		a = &answer{done: make(chan struct{})}
		l.answers[to] = a
		go l.askUser(to, a)
	}
	l.mu.Unlock()
	select {
	case <-a.done:
		return a.approved, a.err
	case <-ctx.Done():
		return "", ErrUndecided
	}
}

func (l *Log) askUser(to string, a *answer) {
	l.asking.Lock()
	defer l.asking.Unlock()
	a.approved, a.err = l.Ask(to)
	a.at = time.Now()
	close(a.done)
}

// old reports whether the question may be repeated.
func (a *answer) old() bool {
	select {
	case <-a.done:
		return errors.Is(a.err, ErrUndecided) && time.Since(a.at) > undecidedFor
	default:
		return false
	}
}

func (l *Log) learns() bool { return l != nil && l.Learn }

// Learns reports whether a person is asked about what a command's list does not name.
func Learns(cmd any) bool { return Of(cmd).learns() }

// Offline reports whether a command's processes in a view reach nothing, as without a log.
func Offline(cmd any) bool {
	l := Of(cmd)
	return l == nil || l.Offline
}

// lookedUp notes a name when learning.
func (l *Log) lookedUp(name string) {
	if !l.learns() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.looked) < mostKept && !slices.Contains(l.looked, name) {
		l.looked = append(l.looked, name)
	}
}

// Learned returns what processes reached, as entries of a list, and names only looked up.
func (l *Log) Learned() (entries, lookedUp []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	reached := make(map[string]bool)
	for _, c := range l.connections {
		reached[c.Host] = true
		if entry := asEntry(c.Host, c.Port); c.Refused == "" && !slices.Contains(entries, entry) {
			entries = append(entries, entry)
		}
	}
	for _, name := range l.looked {
		if !reached[name] {
			lookedUp = append(lookedUp, name)
		}
	}
	slices.Sort(entries)
	return entries, lookedUp
}
