package mcpserve

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// conn ties an MCP session to a session of the host. It travels in the context of the connection.
type conn struct {
	session *host.Session
	// anonymous is true where the session's name was made up.
	anonymous bool
	stdio     bool

	ended   context.Context
	end     context.CancelFunc
	slots   chan struct{} // of calls that run at one time
	running sync.WaitGroup
	closed  func() // after the last call has ended

	// onSession is told about the MCP session once it is initialized. May be nil.
	onSession func(*mcp.ServerSession)

	mu   sync.Mutex // guards over against running
	over bool
}

// connKey is the key of the conn in a connection's context.
type connKey struct{}

// connOf returns the conn of the connection that a request came in on.
func connOf(ctx context.Context) *conn {
	l, _ := ctx.Value(connKey{}).(*conn)
	return l
}

// newConn returns a conn of the host session of that name, or of a random one.
func (s *Server) newConn(name string) *conn {
	anonymous := name == ""
	if anonymous {
		name = "mcp-" + rand.Text()[:10]
	}
	l := &conn{anonymous: anonymous, session: s.host.Session(name), slots: make(chan struct{}, callsAtOnce),
		closed: func() { s.options.SessionEnded(name) }}
	l.ended, l.end = context.WithCancel(context.Background())
	return l
}

// callsAtOnce bounds the concurrent calls of one session, so that it cannot take the places of all
// others. More wait.
const callsAtOnce = 32

// begin starts a call, which ends with the connection at the latest.
func (l *conn) begin(ctx context.Context) (context.Context, func(), error) {
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, tool.Errorf(tool.Cancelled,
			"the call was cancelled before it began").Suggest("Call again if the result is still wanted.")
	case <-l.ended.Done():
		return nil, nil, errEnded()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		<-l.slots
		return nil, nil, errEnded()
	}
	l.running.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.ended, cancel)
	return ctx, func() {
		stop()
		cancel()
		<-l.slots
		l.running.Done()
	}, nil
}

func errEnded() error {
	return tool.Errorf(tool.Cancelled, "the session has ended").Suggest("Open a new session and call again.")
}

// close ends the calls that run, waits for them and releases the session.
func (l *conn) close() {
	l.mu.Lock()
	first := !l.over
	l.over = true
	l.mu.Unlock()
	l.end()
	l.running.Wait()
	if first {
		l.closed()
	}
}

// keepSession hands an initialized session, which has the agreed revision, to its conn.
func keepSession(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, request)
		answer, ok := result.(*mcp.InitializeResult)
		session, _ := request.GetSession().(*mcp.ServerSession)
		if !ok || err != nil || session == nil {
			return result, err
		}
		session.InitializeParams().ProtocolVersion = answer.ProtocolVersion
		if conn := connOf(ctx); conn != nil && conn.onSession != nil {
			conn.onSession(session)
		}
		return result, nil
	}
}
