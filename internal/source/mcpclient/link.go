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
	// exitWait is how long to wait for the exit status of a process that has closed its output.
	exitWait = 2 * time.Second
	// closeWait bounds the goodbye to a server.
	closeWait = 2 * time.Second
)

// link is one connection to a server.
type link struct {
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
	endOnce   sync.Once
	relisting sync.Mutex
	freed     sync.Once
}

func newLink(s *server) *link {
	l := &link{server: s, words: new(words), ready: make(chan struct{}), gone: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Ready implements supervisor.Attempt, as Failure and Gone do.
func (l *link) Ready() <-chan struct{} { return l.ready }

// Failure is why it could not be opened.
func (l *link) Failure() *tool.Error { return l.failure }

// Gone reports whether the connection has ended.
func (l *link) Gone() bool { return isClosed(l.gone) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// open connects and lists the tools. A server that cannot handle the newest protocol's first request (it ends,
// hangs or refuses everything after it) gets a new connection in the older protocol, from then on too.
func (l *link) open() (*listing, *tool.Error) {
	timeout := l.server.spec.StartTimeout
	if timeout <= 0 {
		timeout = DefaultStartTimeout
	}
	ctx, cancel := context.WithTimeout(l.ctx, timeout)
	defer cancel()
	began := time.Now()
	found, err := l.negotiate(ctx, timeout)
	if err != nil {
		failure := l.startError(err, time.Since(began))
		l.release()
		return nil, failure
	}
	return found, nil
}

func (l *link) negotiate(ctx context.Context, timeout time.Duration) (*listing, error) {
	if version := l.server.pinned(); version != "" {
		return l.attempt(ctx, version)
	}
	first, cancel := context.WithTimeout(ctx, timeout/3)
	defer cancel()
	found, err := l.attempt(first, "")
	if err == nil || ctx.Err() != nil || !l.worthAnother(err) {
		return found, err
	}
	l.server.client.logger.Debug("MCP server is tried in the older protocol", "server", l.server.spec.Name, "error",
		err)
	l.disconnect()
	l.session, l.words = nil, new(words)
	found, err = l.attempt(ctx, olderProtocol)
	if err == nil && l.server.spec.Protocol == "" {
		found.Pinned = olderProtocol
	}
	return found, err
}

// pinned is the protocol version to speak, "" to negotiate.
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

// worthAnother reports whether the failure may be due to the protocol.
func (l *link) worthAnother(err error) bool {
	if _, own := errors.AsType[*tool.Error](err); own {
		return false // the program could not be run at all
	}
	return l.http == nil || l.http.mayBeProtocol()
}

// attempt makes one connection and lists the tools.
func (l *link) attempt(ctx context.Context, version string) (*listing, error) {
	l.rawResults = newRawResults(func(odd int) {
		l.server.client.logger.Warn("an MCP server answered with entries that cannot be read; the rest is used", "server",
			l.server.spec.Name, "entries", odd)
	})
	transport, err := l.transport()
	if err != nil {
		return nil, err
	}
	type connected struct {
		session *mcp.ClientSession
		err     error
	}
	done := make(chan connected, 1)
	go func() {
		session, err := l.newClient().Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
		done <- connected{session, err}
	}()
	// Connect may hang in a write despite its context.
	select {
	case c := <-done:
		if c.err != nil {
			return nil, errors.Join(ctx.Err(), c.err)
		}
		l.session = c.session
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	found, err := l.list(ctx)
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	return found, nil
}

// newClient returns the SDK's client for one connection, with the capabilities that toolhost has.
func (l *link) newClient() *mcp.Client {
	c := l.server.client
	options := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{},
				URL: &mcp.URLElicitationCapabilities{}},
			RootsV2: &mcp.RootCapabilities{}, // they change with the connection only
		},
		ElicitationHandler: l.elicit,
		ElicitationCompleteHandler: func(_ context.Context, r *mcp.ElicitationCompleteNotificationRequest) {
			l.visits.done(r.Params.ElicitationID)
		},
		ProgressNotificationHandler: l.progress,
		LoggingMessageHandler:       l.log,
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { go l.listAgain() },
	}
	if c.options.Sampling {
		options.Capabilities.Sampling = &mcp.SamplingCapabilities{}
		options.CreateMessageHandler = l.sample
	}
	version := c.options.Version
	if version == "" {
		version = "0"
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "toolhost", Version: version}, options)
	client.AddRoots(rootsOf(l.server.spec.Roots)...)
	return client
}

func rootsOf(dirs []string) []*mcp.Root {
	roots := make([]*mcp.Root, len(dirs))
	for i, dir := range dirs {
		path := filepath.ToSlash(dir)
		if !strings.HasPrefix(path, "/") { // a drive
			path = "/" + path
		}
		roots[i] = &mcp.Root{URI: (&url.URL{Scheme: "file", Path: path}).String(), Name: filepath.Base(dir)}
	}
	return roots
}

// exited reports whether the process has ended, waiting a little for it.
func (l *link) exited(patience time.Duration) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-l.process.Done():
		return true
	case <-timer.C:
		return false
	}
}

// stop ends the connection, even while it is opening.
func (l *link) stop() {
	l.stopping.Store(true)
	l.cancel()
	<-l.ready
	l.release()
}

// release frees the resources of the connection.
func (l *link) release() {
	l.freed.Do(func() {
		l.disconnect()
		l.cancel()
	})
}

// disconnect says goodbye and ends the process and its descendants.
func (l *link) disconnect() {
	if l.process != nil {
		l.process.Stop()
		_ = l.process.Stdout.Close()
	}
	if l.http != nil {
		defer l.http.base.CloseIdleConnections()
	}
	if l.session == nil {
		return
	}
	closed := make(chan struct{})
	go func(session *mcp.ClientSession) {
		_ = session.Close()
		close(closed)
	}(l.session)
	select {
	case <-closed:
	case <-time.After(closeWait):
	}
}
