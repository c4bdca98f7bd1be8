package mcpserve

import (
	"context"
	"crypto/rand"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// link ties what comes in over one MCP session to a session of the host. It
// travels in the context of the connection, where handlers find it.
type link struct {
	session *host.Session
	ended   context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	closed  func() // after the last call has ended

	// keep is told of the MCP session once it is initialized. May be nil.
	keep func(*mcp.ServerSession)

	mu   sync.Mutex // guards over against running
	over bool
}

// linkKey is the key of the link in a connection's context.
type linkKey struct{}

// linkOf gives the link of the connection that a request came in on.
func linkOf(ctx context.Context) *link {
	l, _ := ctx.Value(linkKey{}).(*link)
	return l
}

// newLink makes a link to the host session of that name, or of a random one.
func (s *Server) newLink(name string) *link {
	if name == "" {
		name = "mcp-" + rand.Text()[:10]
	}
	l := &link{session: s.host.Session(name), closed: func() { s.options.SessionEnded(name) }}
	l.ended, l.end = context.WithCancel(context.Background())
	return l
}

// begin starts a call, which ends with the link at the latest.
func (l *link) begin(ctx context.Context) (context.Context, func(), error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil, nil, tool.Errorf(tool.Cancelled, "the session has ended").Suggest("Open a new session and call again.")
	}
	l.running.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.ended, cancel)
	return ctx, func() {
		stop()
		cancel()
		l.running.Done()
	}, nil
}

// close ends the calls that run, waits for them and releases the session.
func (l *link) close() {
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

// keepSession hands a session that has been initialized to its link.
func keepSession(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, request)
		link := linkOf(ctx)
		if method == "initialize" && err == nil && link != nil && link.keep != nil {
			if session, ok := request.GetSession().(*mcp.ServerSession); ok {
				link.keep(session)
			}
		}
		return result, err
	}
}
