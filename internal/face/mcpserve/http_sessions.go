package mcpserve

import (
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessions are the open HTTP sessions, bounded in number and closed when idle for long.
type sessions struct {
	max  int
	idle time.Duration

	mu     sync.Mutex
	byID   map[string]*openSession
	closed bool
	ending sync.WaitGroup
}

// openSession is an HTTP session. It is not idle while a request or event stream is open.
type openSession struct {
	id        string
	conn      *conn
	hangUp    func() error // closes the MCP session
	active    int
	idleSince time.Time
	expiry    *time.Timer
}

// evictable is the idle time after which a session may be closed to make room.
const evictable = time.Minute

// opening is a request that may open a session.
type opening struct {
	sessions *sessions
	conn     *conn

	mu     sync.Mutex
	over   bool
	opened *openSession
}

// attachSession stores the initialized session, or closes it if the request is over.
func (o *opening) attachSession(session *mcp.ServerSession) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.over {
		o.opened = o.sessions.add(session.ID(), o.conn, session.Close)
	}
	if o.opened == nil {
		go session.Close() // waits for the initialize under way
	}
}

func (o *opening) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	if o.opened != nil {
		o.sessions.leave(o.opened)
	} else {
		o.conn.close()
	}
}

// add stores a session, entered once; nil if closed.
func (s *sessions) add(id string, l *conn, hangUp func() error) *openSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	return s.addLocked(id, l, hangUp)
}

func (s *sessions) addLocked(id string, l *conn, hangUp func() error) *openSession {
	o := &openSession{id: id, conn: l, hangUp: hangUp, active: 1}
	s.byID[id] = o
	return o
}

// enter begins a request in a session; nil if there is none. Each entered session must be left.
func (s *sessions) enter(id string) *openSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enterLocked(id)
}

func (s *sessions) enterLocked(id string) *openSession {
	o := s.byID[id]
	if o == nil {
		return nil
	}
	if o.expiry != nil {
		o.expiry.Stop()
	}
	o.active++
	return o
}

// enterNamed begins a request in the host session of that name, made if missing; requests without a
// session share "". Nil if there are too many.
func (s *sessions) enterNamed(server *Server, name string) *openSession {
	id := fmt.Sprintf("named %p %s", server, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.enterLocked(id); o != nil {
		return o
	}
	if s.closed || !s.hasRoomLocked() {
		return nil
	}
	return s.addLocked(id, server.newConn(name), func() error { return nil })
}

// leave ends a request.
func (s *sessions) leave(o *openSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.active--
	if o.active > 0 || s.byID[o.id] != o {
		return
	}
	o.idleSince = time.Now()
	if o.expiry == nil {
		o.expiry = time.AfterFunc(s.idle, func() { s.expire(o) })
	} else {
		o.expiry.Reset(s.idle)
	}
}

// expire closes a session unless it was entered meanwhile.
func (s *sessions) expire(o *openSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.active == 0 && time.Since(o.idleSince) >= s.idle {
		s.closeLocked(o)
	}
}

// hasRoom reports whether one more session may be opened, closing an idle one if necessary.
func (s *sessions) hasRoom() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && s.hasRoomLocked()
}

func (s *sessions) hasRoomLocked() bool {
	if len(s.byID) < s.max {
		return true
	}
	var longest *openSession
	for _, o := range s.byID {
		if o.active == 0 && (longest == nil || o.idleSince.Before(longest.idleSince)) {
			longest = o
		}
	}
	if longest == nil || time.Since(longest.idleSince) < min(evictable, s.idle) {
		return false
	}
	s.closeLocked(longest)
	return true
}

func (s *sessions) remove(o *openSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked(o)
}

func (s *sessions) closeLocked(o *openSession) {
	if s.byID[o.id] != o {
		return
	}
	delete(s.byID, o.id)
	if o.expiry != nil {
		o.expiry.Stop()
	}
	s.ending.Go(func() {
		o.conn.end()
		_ = o.hangUp()
		o.conn.close()
	})
}

// closeAll closes all sessions and waits. No more are opened.
func (s *sessions) closeAll() {
	s.mu.Lock()
	s.closed = true
	for _, o := range s.byID {
		s.closeLocked(o)
	}
	s.mu.Unlock()
	s.ending.Wait()
}
