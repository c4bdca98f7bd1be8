package mcpserve

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolhost/toolhost/internal/store/record"
)

// statelessRevision is the first protocol revision without sessions.
const statelessRevision = "2026-07-28"

// The defaults of HTTPOptions.
const (
	DefaultSessions    = 256
	DefaultSessionIdle = 30 * time.Minute
	DefaultPatience    = 20 * time.Second
)

// HTTPOptions bounds the use of a server over HTTP. The zero value serves this machine alone: requests
// whose Host is the loopback interface, from no web page of another origin.
type HTTPOptions struct {
	// Toolset returns the server for the path value {toolset} of the handler's pattern. May be nil.
	Toolset func(ctx context.Context, name string) (*Server, error)
	// Token is the bearer token required of each request, "" for none.
	Token string
	// Hosts are further names allowed in the Host header, without a port.
	Hosts []string
	// Origins are the web origins ("https://app.example.com") whose pages may use the server.
	Origins []string
	// Sessions bounds the open sessions. Zero means DefaultSessions.
	Sessions int
	// SessionIdle is how long a session lives without a request. Zero means DefaultSessionIdle.
	SessionIdle time.Duration
	// Patience bounds the time to receive a message or to send each piece of an answer. Zero means
	// DefaultPatience.
	Patience time.Duration
	// Backend answers requests instead of this server. May be nil.
	Backend Backend
	// Logger receives refused requests. Nil discards.
	Logger *slog.Logger
}

// Backend answers requests instead of a Server.
type Backend interface {
	// Authenticate runs before the body is read. It returns the request to serve, or nil after it
	// called Refuse.
	Authenticate(w http.ResponseWriter, r *http.Request) *http.Request
	// Serve answers a request whose body has been read.
	Serve(w http.ResponseWriter, r *http.Request, body []byte)
	// Metadata returns the authorization server for /mcp/NAME or /mcp (RFC 9728), or nil.
	Metadata(name string) *oauthex.ProtectedResourceMetadata
	// Ready returns why requests cannot be served now, for /readyz.
	Ready() error
	// WriteMetrics writes metrics, for /metrics.
	WriteMetrics(w io.Writer)
}

// HTTP serves MCP over streamable HTTP, all protocol revisions at one URL: older ones with sessions,
// 2026-07-28 without. Under a pattern with {toolset} it also serves HTTPOptions.Toolset.
type HTTP struct {
	server   *Server
	options  HTTPOptions
	guard    *guard
	sessions *sessions
	bodies   budget
	events   *mcp.MemoryEventStore
	closing  context.Context
	close    context.CancelFunc

	mu   sync.Mutex // guards eras
	eras map[*Server]*eras
}

// eras are a server's two handlers.
type eras struct{ stateful, stateless *mcp.StreamableHTTPHandler }

// NewHTTP returns a handler for a server. The caller must close it.
func NewHTTP(server *Server, o HTTPOptions) *HTTP {
	if o.Sessions <= 0 {
		o.Sessions = DefaultSessions
	}
	if o.SessionIdle <= 0 {
		o.SessionIdle = DefaultSessionIdle
	}
	if o.Patience <= 0 {
		o.Patience = DefaultPatience
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h := &HTTP{
		server: server, options: o, guard: newGuard(o),
		sessions: &sessions{max: o.Sessions, idle: o.SessionIdle, byID: make(map[string]*openSession)},
		bodies:   budget{left: bodyBudget}, events: mcp.NewMemoryEventStore(nil), eras: make(map[*Server]*eras),
	}
	h.closing, h.close = context.WithCancel(context.Background())
	h.events.SetMaxBytes(replayBytes)
	return h
}

// replayBytes bounds the events kept for reconnecting clients, in bytes.
const replayBytes = 16 << 20

// Close ends all sessions and waits for their calls. Later requests are refused.
func (h *HTTP) Close() {
	h.close()
	h.sessions.closeAll()
}

// ServeHTTP implements http.Handler.
func (h *HTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	patient, done := patiently(w, r, h.options.Patience)
	defer done()
	if no := h.serve(patient, r); no != nil {
		h.options.Logger.InfoContext(r.Context(), "a request is refused", "status", no.status, "reason", no.message,
			"from", r.RemoteAddr)
		no.write(patient)
	}
}

func (h *HTTP) serve(w http.ResponseWriter, r *http.Request) *refusal {
	answered, no := h.guard.check(w, r)
	if answered || no != nil {
		return no
	}
	if h.closing.Err() != nil {
		return refuse(http.StatusServiceUnavailable, "the server is ending", "Try again in a moment.")
	}
	backend := h.options.Backend
	var server *Server
	if backend == nil {
		server, no = h.find(r)
	} else if r = backend.Authenticate(w, r); r == nil {
		return nil
	}
	if no != nil {
		return no
	}
	release, no := h.readBody(w, r)
	if no != nil {
		return no
	}
	defer release()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(h.closing, cancel)()
	r = r.WithContext(ctx)
	if no := exactBody(r); no != nil {
		return no
	}
	setRequestHeaders(r)
	if backend != nil {
		backend.Serve(w, r, bodyOf(r))
		return nil
	}
	if IsStateless(r, bodyOf(r)) {
		return h.serveStateless(server, w, r)
	}
	return h.serveStateful(server, w, r)
}

// find returns the server of the toolset that the path names.
func (h *HTTP) find(r *http.Request) (*Server, *refusal) {
	name := r.PathValue("toolset")
	if name == "" {
		return h.server, nil
	}
	if h.options.Toolset == nil {
		return nil,
			refuse(http.StatusNotFound, "there is no toolset at this path", "Leave out the last part of the path.")
	}
	server, err := h.options.Toolset(r.Context(), name)
	if err != nil {
		return nil, refuseError(http.StatusNotFound, err)
	}
	return server, nil
}

func (h *HTTP) handlersOf(server *Server) *eras {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.eras[server]; e != nil {
		return e
	}
	get := func(*http.Request) *mcp.Server { return server.sdk }
	options := mcp.StreamableHTTPOptions{
		Logger: sdkLog(h.options.Logger), MaxRequestBodyBytes: MaxMessage,
		DisableLocalhostProtection: true, // guard checks more, and knows Hosts
	}
	stateful, stateless := options, options
	stateful.EventStore = h.events
	stateless.Stateless, stateless.PropagateRequestCancellation = true, true
	e := &eras{mcp.NewStreamableHTTPHandler(get, &stateful), mcp.NewStreamableHTTPHandler(get, &stateless)}
	h.eras[server] = e
	return e
}

// IsStateless reports whether a request is of the revisions without sessions, by the revision header
// or, without a session, by the message.
func IsStateless(r *http.Request, body []byte) bool {
	if r.Header.Get("MCP-Protocol-Version") >= statelessRevision {
		return true
	}
	if r.Method != http.MethodPost || r.Header.Get("Mcp-Session-Id") != "" {
		return false
	}
	var message struct {
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	var revision string
	_ = json.Unmarshal(body, &message)
	_ = json.Unmarshal(message.Params.Meta[mcp.MetaKeyProtocolVersion], &revision)
	return revision >= statelessRevision
}

// serveStateful serves the revisions with sessions.
func (h *HTTP) serveStateful(server *Server, w http.ResponseWriter, r *http.Request) *refusal {
	id := r.Header.Get("Mcp-Session-Id")
	if id == "" {
		return h.openSession(server, w, r)
	}
	session := h.sessions.enter(id)
	if session == nil {
		return refuse(http.StatusNotFound, "there is no such session; it may have expired",
			"Send initialize without Mcp-Session-Id to open a new one.")
	}
	defer h.sessions.leave(session)
	if r.Method == http.MethodDelete {
		session.conn.end() // else closing would wait for its calls
		defer h.sessions.remove(session)
	}
	h.handlersOf(server).stateful.ServeHTTP(w, r)
	return nil
}

// openSession serves a request without a session; an initialize opens one.
func (h *HTTP) openSession(server *Server, w http.ResponseWriter, r *http.Request) *refusal {
	if !h.sessions.hasRoom() {
		no := refuse(http.StatusServiceUnavailable, "all sessions are in use",
			"Close a session with DELETE, or try again later.")
		no.header = map[string]string{"Retry-After": "10"}
		return no
	}
	opening := &opening{sessions: h.sessions, conn: server.newConn("")}
	opening.conn.onSession = opening.attachSession
	defer opening.end()
	h.handlersOf(server).stateful.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), connKey{}, opening.conn)))
	return nil
}

// serveStateless serves the revisions without sessions. Their clients share one host session;
// ?session=NAME in the URL selects http-NAME.
func (h *HTTP) serveStateless(server *Server, w http.ResponseWriter, r *http.Request) *refusal {
	name := r.URL.Query().Get("session")
	if name != "" {
		name = "http-" + name
		if err := record.ValidSession(name); err != nil {
			return refuseError(http.StatusBadRequest, err)
		}
	}
	session := h.sessions.enterNamed(server, name)
	if session == nil {
		return refuse(http.StatusServiceUnavailable, "all sessions are in use",
			"Use fewer names in ?session=, or try again later.")
	}
	defer h.sessions.leave(session)
	h.handlersOf(server).stateless.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), connKey{}, session.conn)))
	return nil
}
