package mcpclient

import (
	"context"
	"log/slog"
	"os/exec"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/mcpclient/oauth"
	"github.com/toolhost/toolhost/internal/source/registry"
	"github.com/toolhost/toolhost/internal/source/supervisor"
	"github.com/toolhost/toolhost/internal/store/digest"
	"github.com/toolhost/toolhost/internal/store/pins"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// Defaults of Spec and Options.
const (
	DefaultStartTimeout = 30 * time.Second
	DefaultMaxMessage   = 16 << 20
)

// Options configures a Client. The zero value works, without a cache.
type Options struct {
	// Logger receives servers' output, log messages and state changes. Nil discards.
	Logger *slog.Logger
	// Version is toolhost's version as servers see it.
	Version string
	// Dir is the working directory of server programs. Empty means the current one.
	Dir string
	// CacheDir caches servers' listings, so that listing tools starts none. Empty means no cache.
	CacheDir string
	// Patience bounds how long Source.Tools waits for a server with unknown tools; the start continues in the
	// background and OnChange reports its end. Zero waits as long as a start may take. Negative starts
	// nothing.
	Patience time.Duration
	// MaxMessage bounds one message of a server, in bytes. Zero means DefaultMaxMessage.
	MaxMessage int
	// Sampling lets servers ask a language model through the current call's Call.Sample.
	Sampling bool
	// Secrets are redacted from log lines and errors.
	Secrets []string
	// Logins stores the logins to servers. Nil keeps them in memory.
	Logins *oauth.Store
	// Visit shows the user the login page if a request needs it. If nil, such a request fails with an error that
	// says how to log in.
	Visit oauth.Visit
	// Trace returns the _meta members that name the caller's trace. Nil names none.
	Trace func(ctx context.Context) map[string]any
	// Prepare changes a server's command before its start, for example to confine it. An error prevents the
	// start. May be nil.
	Prepare func(cmd *exec.Cmd, spec Spec) error
	// Pins admits the tools of Tools and Call; a Source's tools are admitted by its host, from the same store. Nil
	// admits all.
	Pins *pins.Store
	// Denied explains a server's failure by confinement, from its output; "" if that was not the cause. May be
	// nil.
	Denied func(spec Spec, printed string) string
	// OnChange, unless nil, is called with the name of a server whose tools differ from the last Source.Tools. It
	// must not block.
	OnChange func(name string)
	// Said, unless nil, is called with each line that a server printed or logged, without secrets.
	Said func(name, line string)
	// Serving, unless nil, is called before each call to a server, and done after it.
	Serving func(ctx context.Context, name string) (done func())
}

// Spec declares one server. Its JSON form may be passed to another process; durations are in nanoseconds.
type Spec struct {
	// Name is the server's name in the configuration, unique in a Client.
	Name string `json:"name"`
	// Command is the program and its arguments. Exactly one of Command and URL is set.
	Command []string `json:"command,omitempty"`
	// Env are environment variables besides the few that every program needs.
	Env map[string]string `json:"env,omitempty"`
	// URL is the address of the server's streamable HTTP endpoint.
	URL string `json:"url,omitempty"`
	// Headers are sent with every request to URL, but to no other host.
	Headers map[string]string `json:"headers,omitempty"`
	// OAuth is how to log in to URL, unless Headers have an Authorization.
	OAuth oauth.Config `json:"oauth,omitzero"`
	// Prefix goes before the names of the server's tools.
	Prefix string `json:"prefix,omitempty"`
	// Include and Exclude are globs on the server's own tool names. An empty Include includes all.
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// Risk overrides the risk of tools, by globs on the server's own names; the longest match counts. Otherwise the
	// tool's annotations decide, and a tool without any is dangerous.
	Risk map[string]tool.Risk `json:"risk,omitempty"`
	// Protocol pins the protocol version; empty negotiates.
	Protocol string `json:"protocol,omitempty"`
	// StartTimeout bounds connecting; zero means DefaultStartTimeout. CallTimeout bounds a call; zero means the
	// host's default.
	StartTimeout time.Duration `json:"start_timeout,omitempty"`
	CallTimeout  time.Duration `json:"call_timeout,omitempty"`
	// Roots are the absolute directories given to the server as the client's roots. They do not confine it.
	Roots []string `json:"roots,omitempty"`
	// Network, Hosts, Read and Write are the program's sandbox grants; Options.Prepare applies them.
	Network bool     `json:"network,omitempty"`
	Hosts   []string `json:"hosts,omitempty"`
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	// Files are the files named in Command, as the user approved them: if one has changed, the program does
	// not start.
	Files digest.Files `json:"files,omitempty"`
	// Confinement stands for what Options.Prepare does to the program. A change gives the server a new process; see
	// Client.Succeed.
	Confinement string `json:"confinement,omitempty"`
}

func (s *Spec) check() error {
	wrong := func(what, next string) error {
		return tool.Errorf(tool.InvalidArgument, "the MCP server %q %s", s.Name, what).Suggest("%s", next)
	}
	switch {
	case s.Name == "":
		return wrong("has no name", "Give it one.")
	case len(s.Command) == 0 && s.URL == "":
		return wrong("has neither a command nor a URL", "Give one of them.")
	case len(s.Command) > 0 && s.URL != "":
		return wrong("has a command and a URL", "Keep one of them.")
	}
	for glob, risk := range s.Risk {
		if !doublestar.ValidatePattern(glob) || !risk.Valid() {
			return wrong("has a risk that cannot be used: "+glob+" = "+string(risk),
				"The risks are read_only, safe_write and dangerous.")
		}
	}
	return nil
}

// Client holds the connections to servers. It is safe for concurrent use.
type Client struct {
	options Options
	logger  *slog.Logger
	cache   listingCache
	hiding  atomic.Pointer[redact.Redactor] // redacts secrets; nil if there are none
	now     func() time.Time

	servers registry.Registry[*server]

	mu      sync.Mutex
	secrets []string
}

// New returns a client. It connects to nothing and touches no file.
func New(options Options) *Client {
	logger := options.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if options.MaxMessage <= 0 {
		options.MaxMessage = DefaultMaxMessage
	}
	c := &Client{options: options, logger: logger, cache: listingCache{dir: options.CacheDir}, now: time.Now}
	c.addSecrets(options.Secrets)
	return c
}

// addSecrets adds values to redact.
func (c *Client) addSecrets(values []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets = append(c.secrets, values...)
	c.hiding.Store(redact.New(c.secrets))
}

func (c *Client) hide(text string) string { return c.hiding.Load().String(text) }

// Add declares a server. The error is a *tool.Error: invalid_argument for an invalid spec, conflict for a name in
// use.
func (c *Client) Add(spec Spec) error {
	if err := spec.check(); err != nil {
		return err
	}
	same := func(s *server) bool { return reflect.DeepEqual(s.spec, spec) && s.programUnchanged() }
	err := c.servers.Add(spec.Name, same, func() (*server, error) {
		s := &server{client: c, spec: spec,
			calls: &pendingCalls{all: make(map[string]*pendingCall), parked: make(map[string]*pendingCall)}}
		s.Breaker = supervisor.Breaker{Free: freeFailures, First: firstRest, Longest: longestRest}
		s.Patience = longestWait
		return s, s.authorized()
	})
	switch err {
	case registry.ErrClosed:
		return closedError(spec.Name)
	case registry.ErrTaken:
		return tool.Errorf(tool.Conflict, "two MCP servers are named %q",
			spec.Name).Suggest("Give one of them another name.")
	}
	return err
}

// Remove removes a server, and ends it unless another client has it too. An unknown name is ignored.
func (c *Client) Remove(name string) { c.servers.Remove(name) }

// Sources returns the servers' tools for a host, in the order the servers were added.
func (c *Client) Sources() []*Source {
	var sources []*Source
	for _, s := range c.servers.All() {
		sources = append(sources, &Source{s})
	}
	return sources
}

// Load connects, concurrently, to every server with unknown tools, or that once had the named one, and returns when
// each is connected or has failed. It reports whether there was one.
func (c *Client) Load(ctx context.Context, name string) bool {
	return c.connect(ctx, func(s *server) bool {
		_, known := s.known()
		return !known || name != "" && s.had(name)
	})
}

// Connect connects, concurrently, to every server, and returns when each is connected or has failed.
func (c *Client) Connect(ctx context.Context) { c.connect(ctx, func(*server) bool { return true }) }

func (c *Client) connect(ctx context.Context, wanted func(*server) bool) (any bool) {
	var connecting sync.WaitGroup
	for _, s := range c.servers.All() {
		if wanted(s) {
			any = true
			connecting.Go(func() { _, _ = s.acquire(ctx) })
		}
	}
	connecting.Wait()
	return any
}

// Close ends all connections that no other client has, and their processes with all descendants, within a few
// seconds. The client cannot be used afterwards.
func (c *Client) Close() error {
	c.servers.Close()
	return nil
}

// Listed returns all known tools as the server describes them, by its own names, regardless of include and
// exclude.
func (s *Source) Listed() map[string]any {
	s.server.Lock()
	defer s.server.Unlock()
	all := make(map[string]any)
	if found := s.server.listing; found != nil {
		for i := range found.Tools {
			all[found.Tools[i].Name] = &found.Tools[i]
		}
	}
	return all
}

// Source is the tools of one server for a host.
type Source struct{ server *server }

// Name is "mcp" and the server's name.
func (s *Source) Name() string { return s.server.source() }

// Tools lists the tools: from the connection, from the cache if it matches this server, or by connecting; see
// Options.Patience. An unreachable server keeps its last tools; calling them says why they are unavailable. The
// error is usually a *tool.Error of code unavailable.
func (s *Source) Tools(ctx context.Context) ([]tool.Tool, error) { return s.server.tools(ctx) }

// Succeed returns the client that replaces c after a change of the configuration. Servers are added to it as usual.
// One with the same spec and program as in c is the same server: its connection and calls continue. A server ends
// with its last client, so both must be closed; see HandOver.
func (c *Client) Succeed(options Options) *Client {
	next := New(options)
	next.servers.Follow(&c.servers)
	return next
}

// TryChanged connects, concurrently, to the servers that replace a connected one of the same name in the
// previous client. It returns the first error, a *tool.Error, in the order of Add.
func (c *Client) TryChanged(ctx context.Context) error {
	running := func(old *server) bool { return old.status().State == Running }
	return c.servers.TryChanged(running, func(s *server) error {
		_, err := s.acquire(ctx)
		return err
	})
}

// HandOver ends the succession: c drops the servers that next, which may be nil, has too. It returns the names of
// the others, changed or removed, which stay for their calls until Remove or Close.
func (c *Client) HandOver(next *Client) (left []string) {
	if next == nil {
		return c.servers.HandOver(nil)
	}
	return c.servers.HandOver(&next.servers)
}

// programUnchanged reports whether the program is the one started last, if ever started.
func (s *server) programUnchanged() bool {
	now := s.program()
	s.Lock()
	defer s.Unlock()
	return s.Starts == 0 || slices.Equal(s.launched, now)
}

// program stamps the program, or interpreter and script: further arguments name the server's data, which may
// change.
func (s *server) program() []stamp {
	spec := s.spec
	spec.Command = spec.Command[:min(len(spec.Command), 2)]
	return stamps(spec, s.client.options.Dir)
}
