//lint:file-ignore SA1019 sampling, roots and logging are what servers of older revisions have

package mcpclient

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
)

const (
	// olderProtocol is the version for servers that fail at server/discover, the newest version's first request.
	olderProtocol = "2025-11-25"
	// exitWait is how long to wait for a process's exit status after it closed its output.
	exitWait = 2 * time.Second
	// closeWait bounds the goodbye to a server.
	closeWait = 2 * time.Second
)

type conn struct {
	server     *server
	rawResults *rawResults
	words      *words
	visits     visits

	session *mcp.ClientSession
	process *proc.Process // nil for a URL
	http    *httpClient   // nil for a program
	failure *tool.Error   // of open; set before ready is closed
	ready   chan struct{} // closed when open is over
	gone    chan struct{} // closed when the connection has ended

	ctx       context.Context // of the process; ends with stop
	cancel    context.CancelFunc
	stopping  atomic.Bool
	deaf      atomic.Bool // it is ended because it does not answer
	endOnce   sync.Once
	relisting sync.Mutex
	freed     sync.Once
}

func newConn(s *server) *conn {
	c := &conn{server: s, words: new(words), ready: make(chan struct{}), gone: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Ready implements supervisor.Attempt, as Failure and Gone do.
func (c *conn) Ready() <-chan struct{} { return c.ready }

// Failure returns why opening failed.
func (c *conn) Failure() *tool.Error { return c.failure }

// Gone reports whether the connection has ended.
func (c *conn) Gone() bool { return isClosed(c.gone) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// open connects and lists the tools. A server that cannot handle the newest protocol's first request (it ends,
// hangs or then refuses everything) gets a new connection in the older protocol, now and later.
func (c *conn) open() (*listing, *tool.Error) {
	timeout := c.server.spec.StartTimeout
	if timeout <= 0 {
		timeout = DefaultStartTimeout
	}
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	began := time.Now()
	found, err := c.negotiate(ctx, timeout)
	if err != nil {
		failure := c.startError(err, time.Since(began))
		c.release()
		return nil, failure
	}
	return found, nil
}

func (c *conn) negotiate(ctx context.Context, timeout time.Duration) (*listing, error) {
	if version := c.server.pinned(); version != "" {
		return c.attempt(ctx, version)
	}
	first, cancel := context.WithTimeout(ctx, timeout/3)
	defer cancel()
	found, err := c.attempt(first, "")
	if err == nil || ctx.Err() != nil || !c.worthAnother(err) {
		return found, err
	}
	c.server.client.logger.Debug("MCP server is tried in the older protocol", "server", c.server.spec.Name, "error",
		err)
	c.disconnect()
	c.session, c.words = nil, new(words)
	found, err = c.attempt(ctx, olderProtocol)
	if err == nil && c.server.spec.Protocol == "" {
		found.Pinned = olderProtocol
	}
	return found, err
}

// pinned returns the protocol version to use, "" to negotiate.
func (s *server) pinned() string {
	s.Lock()
	defer s.Unlock()
	switch {
	case s.spec.Protocol != "":
		return s.spec.Protocol
	case s.listing != nil && s.fresh:
		return s.listing.Pinned
	}
	return ""
}

func (c *conn) worthAnother(err error) bool {
	if _, own := errors.AsType[*tool.Error](err); own {
		return false // the program could not run at all
	}
	return c.http == nil || c.http.mayBeProtocol()
}

// attempt makes one connection and lists the tools.
func (c *conn) attempt(ctx context.Context, version string) (*listing, error) {
	c.rawResults = newRawResults(func(odd int) {
		c.server.client.logger.Warn("an MCP server answered with entries that cannot be read; the rest is used", "server",
			c.server.spec.Name, "entries", odd)
	})
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	type connected struct {
		session *mcp.ClientSession
		err     error
	}
	done := make(chan connected, 1)
	go func() {
		session, err := c.newClient().Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
		done <- connected{session, err}
	}()
	// Connect may hang in a write despite its context.
	select {
	case made := <-done:
		if made.err != nil {
			return nil, errors.Join(ctx.Err(), made.err)
		}
		c.session = made.session
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	found, err := c.list(ctx)
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	return found, nil
}

func (c *conn) newClient() *mcp.Client {
	owner := c.server.client
	options := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{},
				URL: &mcp.URLElicitationCapabilities{}},
			RootsV2: &mcp.RootCapabilities{}, // they change only with the connection
		},
		ElicitationHandler: c.elicit,
		ElicitationCompleteHandler: func(_ context.Context, r *mcp.ElicitationCompleteNotificationRequest) {
			c.visits.done(r.Params.ElicitationID)
		},
		ProgressNotificationHandler: c.progress,
		LoggingMessageHandler:       c.log,
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { go c.listAgain() },
	}
	if owner.options.Sampling {
		options.Capabilities.Sampling = &mcp.SamplingCapabilities{}
		options.CreateMessageHandler = c.sample
	}
	version := owner.options.Version
	if version == "" {
		version = "0"
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "toolhost", Version: version}, options)
	client.AddRoots(rootsOf(c.server.spec.Roots)...)
	return client
}

func rootsOf(dirs []string) []*mcp.Root {
	roots := make([]*mcp.Root, len(dirs))
	for i, dir := range dirs {
		path := filepath.ToSlash(dir)
		if !strings.HasPrefix(path, "/") { // a Windows drive
			path = "/" + path
		}
		roots[i] = &mcp.Root{URI: (&url.URL{Scheme: "file", Path: path}).String(), Name: filepath.Base(dir)}
	}
	return roots
}

// exited reports whether the process ended, waiting a little.
func (c *conn) exited(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.process.Done():
		return true
	case <-timer.C:
		return false
	}
}

// stop ends the connection, even while opening.
func (c *conn) stop() {
	c.stopping.Store(true)
	c.cancel()
	<-c.ready
	c.release()
}

func (c *conn) release() {
	c.freed.Do(func() {
		c.disconnect()
		c.cancel()
	})
}

// disconnect says goodbye and ends the process and its descendants.
func (c *conn) disconnect() {
	if c.process != nil {
		c.process.Stop()
		_ = c.process.Stdout.Close()
	}
	if c.http != nil {
		defer c.http.base.CloseIdleConnections()
	}
	if c.session == nil {
		return
	}
	closed := make(chan struct{})
	go func(session *mcp.ClientSession) {
		_ = session.Close()
		close(closed)
	}(c.session)
	select {
	case <-closed:
	case <-time.After(closeWait):
	}
}
