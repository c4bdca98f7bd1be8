package mcpserve

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// conn ties an MCP session to a host session. It travels in the connection's context.
type conn struct {
	session *host.Session
	// anonymous reports whether the session's name was made up.
	anonymous bool
	stdio     bool

	ended   context.Context
	end     context.CancelFunc
	slots   chan struct{} // of calls that run at the same time
	running sync.WaitGroup
	closed  func() // called after the last call has ended

	// onSession is called with the MCP session once it is initialized. May be nil.
	onSession func(*mcp.ServerSession)

	mu   sync.Mutex // guards over against running
	over bool
}

type connKey struct{}

func connOf(ctx context.Context) *conn {
	l, _ := ctx.Value(connKey{}).(*conn)
	return l
}

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

// callsAtOnce bounds a session's concurrent calls, so that it cannot take all places. More wait.
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

// close ends the running calls, waits for them and releases the session.
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
