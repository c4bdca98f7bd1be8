package mcpclient

import (
	"context"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/mcpclient/oauth"
	"github.com/toolhost/toolhost/internal/source/supervisor"
	"github.com/toolhost/toolhost/internal/store/pins"
)

// A failed server is retried by the next call at once, after further failures in a row only after a rest. A
// call waits up to longestWait for that, else it is refused.
const (
	freeFailures = 2
	firstRest    = 500 * time.Millisecond
	longestRest  = time.Minute
	longestWait  = 500 * time.Millisecond
)

// failureKept is how long a listing trusts another process's report that a server cannot be reached.
const failureKept = time.Minute

// server is one declared server: its tools, connection and history.
type server struct {
	client *Client
	spec   Spec
	calls  *pendingCalls
	spent  samplingBudget

	logLimiter logLimiter
	oauth      *oauth.Server // nil if no login is made

	supervisor.Supervisor[*conn] // guards what follows

	launched []stamp // of the program started last
	listing  *listing
	offered  string      // digest of the last offered tools
	loaded   bool        // from the cache, or tried
	fresh    bool        // listing is of this program
	recent   *tool.Error // of another process, while it counts
}

// known returns the listing without connecting; ok if it is current. One without tools, or with a tool that is left
// out, counts only while the server is connected: only the server can tell whether it is still so.
func (s *server) known() (l *listing, ok bool) {
	s.Lock()
	defer s.Unlock()
	if !s.loaded {
		s.loaded = true
		if entry, fresh := s.client.cache.load(s.spec, s.client.options.Dir); entry != nil {
			s.listing, s.fresh, s.LastError = entry.Listing, fresh, entry.Failure
			if fresh && entry.Failure != nil && time.Since(entry.At) < failureKept {
				s.recent = entry.Failure
			}
		}
	}
	return s.listing, s.listing != nil && s.fresh && (s.Current != nil || s.isUsable(s.listing))
}

func (s *server) isUsable(l *listing) bool {
	refused := func(t upstreamTool) bool {
		return s.spec.selects(t.Name) && !s.client.options.Pins.Admits(s.source(), t.Name, pins.Definition(&t))
	}
	return len(l.Tools) > 0 && !slices.ContainsFunc(l.Tools, refused)
}

// had reports whether a tool was once offered under that name.
func (s *server) had(name string) bool {
	return slices.ContainsFunc(s.client.options.Pins.Names(s.source()),
		func(own string) bool { return (&Source{s}).Offered(own) == name })
}

func (s *server) acquire(ctx context.Context) (*conn, error) {
	s.known()
	return s.Acquire(ctx, s)
}

// Admit implements supervisor.Peer.
func (s *server) Admit() error {
	if s.IsClosed {
		return closedError(s.spec.Name)
	}
	return nil
}

// Begin implements supervisor.Peer.
func (s *server) Begin(context.Context) *conn {
	l := newConn(s)
	s.launched = s.program()
	go s.run(l)
	return l
}

func (s *server) run(c *conn) {
	began := time.Now()
	found, err := c.open()
	c.failure = err
	s.Lock()
	s.StartTook = time.Since(began)
	if err != nil {
		_, login := err.Details["login"]
		s.Fail(c, err, !login) // a missing login needs no rest
		s.Unlock()
		s.keepFailure(err)
		close(c.ready)
		return
	}
	s.Unlock()
	s.learn(found)
	close(c.ready)
	s.client.logger.Debug("MCP server connected", "server", s.spec.Name, "protocol", found.Protocol, "took",
		time.Since(began))
	_ = c.session.Wait()
	close(c.gone)
	s.Lost(c)
}

// Lost implements supervisor.Peer. A call or the watch may be the first to see the end.
func (s *server) Lost(c *conn) { s.ended(c, "ended") }

// ended notes the end of an open connection; when describes the time.
func (s *server) ended(c *conn, when string) {
	c.endOnce.Do(func() {
		err := c.endError(when)
		if !s.Lose(c, c.stopping.Load(), err) {
			s.client.logger.Warn("MCP server ended unexpectedly", "server", s.spec.Name, "error", err.Message)
		}
		go c.release()
	})
}

// abandon takes c out of use and ends it, with its other calls.
func (s *server) abandon(c *conn, err *tool.Error) {
	if c.deaf.Swap(true) {
		return
	}
	c.stopping.Store(true)
	s.Abandon(c, err)
	s.client.logger.Warn("MCP server ended because it does not answer", "server", s.spec.Name)
	c.release()
}

// Close ends the connection, if any, and its process.
func (s *server) Close() {
	l := s.Shut()
	s.calls.abort()
	if l != nil {
		l.stop()
	}
}

func (s *server) isClosed() bool {
	s.Lock()
	defer s.Unlock()
	return s.IsClosed
}

// learn stores a connection's listing, and reports a change to OnChange.
func (s *server) learn(found *listing) {
	s.Lock()
	s.listing, s.fresh, s.LastError, s.recent = found, true, nil, nil
	changed := s.offered != "" && s.offered != found.digest()
	s.Unlock()
	if err := s.client.cache.store(s.spec, s.client.options.Dir, found, nil); err != nil {
		s.client.logger.Debug("the tools of an MCP server were not cached", "server", s.spec.Name, "error", err)
	}
	if notify := s.client.options.OnChange; changed && notify != nil {
		notify(s.spec.Name)
	}
}

// keepFailure caches why the server could not be reached, for listings that do not try.
func (s *server) keepFailure(err *tool.Error) {
	if s.isClosed() {
		return
	}
	s.Lock()
	known := s.listing
	s.Unlock()
	if known != nil {
		unpinned := *known
		unpinned.Pinned = ""
		known = &unpinned
	}
	_ = s.client.cache.store(s.spec, s.client.options.Dir, known, err)
}
