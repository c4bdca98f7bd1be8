package mcpclient

import (
	"context"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/peer/backoff"
	"github.com/toolhost/toolhost/internal/peer/mcpclient/oauth"
)

// A server that failed is tried again by the next call at once, after further
// failures in a row only some time later. A call waits for its turn up to
// longestWait and is refused where it would take longer.
const (
	freeFailures = 2
	firstRest    = 500 * time.Millisecond
	longestRest  = time.Minute
	longestWait  = 500 * time.Millisecond
)

// failureKept is how long a listing takes another process's word for it that a
// server cannot be reached, rather than try itself.
const failureKept = time.Minute

// server is one declared server: what is known of it, the connection if there
// is one, and its history.
type server struct {
	client *Client
	spec   Spec
	calls  *flights
	spent  allowance

	chatter chatter
	oauth   *oauth.Server // nil where no login is made

	mu        sync.Mutex
	current   *link   // being opened or open
	launched  []stamp // of the program when it was started last
	listing   *listing
	offered   string // digest of the tools that were given out last
	loaded    bool   // from the cache, or tried
	fresh     bool   // listing is of this very program
	breaker   backoff.Breaker
	lastError *tool.Error
	recent    *tool.Error // of another process, so lately that it still holds
	closed    bool
	starts    int
	losses    int
	startTook time.Duration
}

func newServer(c *Client, spec Spec) *server {
	return &server{
		client: c, spec: spec, calls: newFlights(),
		breaker: backoff.Breaker{Free: freeFailures, First: firstRest, Longest: longestRest},
	}
}

// known gives what is known of the server without connecting: ok is true when
// it holds for the server as it is now.
func (s *server) known() (l *listing, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded {
		s.loaded = true
		if entry, fresh := s.client.cache.load(s.spec, s.client.options.Dir); entry != nil {
			s.listing, s.fresh, s.lastError = entry.Listing, fresh, entry.Failure
			if fresh && entry.Failure != nil && time.Since(entry.At) < failureKept {
				s.recent = entry.Failure
			}
		}
	}
	return s.listing, s.listing != nil && s.fresh
}

// acquire gives the open connection, opening one if need be. Callers that come
// meanwhile wait for the same one.
func (s *server) acquire(ctx context.Context) (*link, error) {
	s.known()
	for {
		l, err := backoff.Await(ctx, s.pick)
		if err != nil {
			return nil, err
		}
		if l.failure != nil {
			return nil, l.failure
		}
		if !l.isGone() {
			return l, nil
		}
		s.ended(l, "ended")
	}
}

// pick gives the current connection, or begins one, or says how long to wait
// before one may be begun.
func (s *server) pick() (*link, time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, 0, closedError(s.spec.Name)
	case s.current != nil:
		return s.current, 0, nil
	}
	if rest := s.breaker.Rest(time.Now()); rest > longestWait {
		return nil, 0, s.resting(rest)
	} else if rest > 0 {
		return nil, rest, nil
	}
	l := newLink(s)
	s.current, s.launched = l, s.program()
	s.starts++
	go s.run(l)
	return l, 0, nil
}

// run opens the connection, watches it and notes its end.
func (s *server) run(l *link) {
	began := time.Now()
	found, err := l.open()
	l.failure = err
	s.mu.Lock()
	s.startTook = time.Since(began)
	if err != nil {
		s.failed(l, err)
		s.mu.Unlock()
		s.keepFailure(err)
		close(l.ready)
		return
	}
	s.mu.Unlock()
	s.learn(found)
	close(l.ready)
	s.client.logger.Debug("MCP server connected", "server", s.spec.Name, "protocol", found.Protocol, "took",
		time.Since(began))
	l.watch()
	s.ended(l, "ended")
}

// failed notes that l cannot be used. The lock is held.
func (s *server) failed(l *link, err *tool.Error) {
	if s.current == l {
		s.current = nil
	}
	if !s.closed {
		s.lastError = err
		if _, login := err.Details["login"]; !login { // which is over as soon as there is one
			s.breaker.Fail(time.Now())
		}
	}
}

// ended notes the end of a connection that was open. The first to see it does
// so, be it a call or the watch.
func (s *server) ended(l *link, when string) {
	l.endOnce.Do(func() {
		err := l.endError(when)
		s.mu.Lock()
		expected := s.closed || l.stopping.Load()
		if expected && s.current == l {
			s.current = nil
		}
		if !expected {
			s.losses++
			s.failed(l, err)
		}
		s.mu.Unlock()
		if !expected {
			s.client.logger.Warn("MCP server ended unexpectedly", "server", s.spec.Name, "error", err.Message)
		}
		go l.release()
	})
}

// abandon takes l out of use and ends it. Its other calls fail with it.
func (s *server) abandon(l *link, err *tool.Error) {
	l.stopping.Store(true)
	s.mu.Lock()
	if s.current == l {
		s.losses++
		s.failed(l, err)
	}
	s.mu.Unlock()
	s.client.logger.Warn("MCP server ended because it does not answer", "server", s.spec.Name)
	l.release()
}

func (s *server) succeeded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaker.Reset()
	s.lastError = nil
}

// Used reports whether the server was ever connected to.
func (s *server) Used() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts > 0
}

// Close ends the connection, if there is one, and the process behind it.
func (s *server) Close() {
	s.mu.Lock()
	s.closed = true
	l := s.current
	s.current = nil
	s.mu.Unlock()
	s.calls.abort()
	if l != nil {
		l.stop()
	}
}

func (s *server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// learn keeps what a connection told about the tools, and tells who was given
// others.
func (s *server) learn(found *listing) {
	s.mu.Lock()
	s.listing, s.fresh, s.lastError, s.recent = found, true, nil, nil
	changed := s.offered != "" && s.offered != found.digest()
	s.mu.Unlock()
	if err := s.client.cache.store(s.spec, s.client.options.Dir, found, nil); err != nil {
		s.client.logger.Debug("the tools of an MCP server were not cached", "server", s.spec.Name, "error", err)
	}
	if notify := s.client.options.OnChange; changed && notify != nil {
		notify(s.spec.Name)
	}
}

// keepFailure notes in the cache why the server could not be reached, beside
// what is known of it, so that a listing can tell without trying.
func (s *server) keepFailure(err *tool.Error) {
	if s.isClosed() {
		return
	}
	s.mu.Lock()
	known := s.listing
	s.mu.Unlock()
	if known != nil {
		unpinned := *known
		unpinned.Pinned = ""
		known = &unpinned
	}
	_ = s.client.cache.store(s.spec, s.client.options.Dir, known, err)
}
