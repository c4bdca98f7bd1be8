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
	"github.com/toolhost/toolhost/internal/source/roster"
	"github.com/toolhost/toolhost/internal/store/digest"
	"github.com/toolhost/toolhost/internal/store/pins"
	"github.com/toolhost/toolhost/internal/store/redact"
)

// Defaults of Spec and Options.
const (
	DefaultStartTimeout = 30 * time.Second
	DefaultMaxMessage   = 16 << 20
)

// Options say how servers are reached. The zero value works, without a cache.
type Options struct {
	// Logger receives what servers print and log, and what happens to them.
	// Nil discards.
	Logger *slog.Logger
	// Version is told to the servers as toolhost's.
	Version string
	// Dir is the working directory of servers that are programs. Empty is the
	// current one.
	Dir string
	// CacheDir keeps what servers said of their tools, so that listing them
	// starts none. Empty keeps nothing.
	CacheDir string
	// Patience bounds how long Source.Tools waits for a server whose tools are
	// not known yet; it starts on in the background and OnChange tells when
	// they are. Zero waits as long as the start may take. A negative value
	// starts nothing at all.
	Patience time.Duration
	// MaxMessage bounds one message of a server, in bytes. Zero is
	// DefaultMaxMessage.
	MaxMessage int
	// Sampling offers servers to ask a language model, through Call.Sample of
	// the call that is under way.
	Sampling bool
	// Secrets are values that no log line and no error may show.
	Secrets []string
	// Logins keeps the logins to servers that want one. Nil keeps them in
	// memory.
	Logins *oauth.Store
	// Visit shows a person the page to log in at, when a request turns out to
	// need a login. With nil such a request fails, with an error that says how
	// to log in.
	Visit oauth.Visit
	// Trace gives the members of a request's _meta that name the trace of anyone who
	// makes the call. Nil names none.
	Trace func(ctx context.Context) map[string]any
	// Prepare changes the command of a server before it starts, such as to
	// confine it. An error keeps the server from starting. Nil leaves it be.
	Prepare func(cmd *exec.Cmd, spec Spec) error
	// Pins admit the tools that Tools and Call are about. Those of a Source are
	// its host's to admit. Nil admits all.
	Pins *pins.Store
	// Denied says what of a server's failure its confinement is behind, by what
	// the server printed; "" for nothing. Nil says nothing.
	Denied func(spec Spec, printed string) string
	// OnChange is called with the name of a server that turns out to have other
	// tools than those that Source.Tools gave last. It must not block. Nil is
	// not called.
	OnChange func(name string)
	// Said is called with each line that a server printed or logged, as far as it is
	// logged, without secrets. Nil is not called.
	Said func(name, line string)
}

// Spec declares one server. Its JSON form may travel to another process; the
// durations are in nanoseconds there.
type Spec struct {
	// Name is the server's name in the configuration, unique in a Client.
	Name string `json:"name"`
	// Command is the program and its arguments. Command or URL is set, and
	// only one of them.
	Command []string `json:"command,omitempty"`
	// Env are environment variables of the program, beside a few of the
	// host's that every program needs.
	Env map[string]string `json:"env,omitempty"`
	// URL is the address of the server's streamable HTTP endpoint.
	URL string `json:"url,omitempty"`
	// Headers go with every request to URL, and to no other host.
	Headers map[string]string `json:"headers,omitempty"`
	// OAuth says how to log in to the server at URL. A server whose Headers
	// have an Authorization is not logged in to.
	OAuth oauth.Config `json:"oauth,omitzero"`
	// Prefix goes before the names of the server's tools.
	Prefix string `json:"prefix,omitempty"`
	// Include and Exclude are globs on the server's own tool names. An empty
	// Include takes all.
	Include []string `json:"include,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// Risk overrides the risk of tools, by globs on the server's own names.
	// The longest glob that matches counts. Without one the annotations of the
	// tool decide, and a tool without annotations is dangerous.
	Risk map[string]tool.Risk `json:"risk,omitempty"`
	// Protocol pins the protocol version; empty negotiates.
	Protocol string `json:"protocol,omitempty"`
	// StartTimeout bounds connecting, zero is DefaultStartTimeout. CallTimeout
	// bounds a call; zero is the host's default.
	StartTimeout time.Duration `json:"start_timeout,omitempty"`
	CallTimeout  time.Duration `json:"call_timeout,omitempty"`
	// Roots are the absolute directories that the server is told when it asks
	// for the client's roots. They do not limit what it can reach.
	Roots []string `json:"roots,omitempty"`
	// Network, Hosts, Read and Write are what the sandbox grants to the program;
	// Options.Prepare acts on them.
	Network bool     `json:"network,omitempty"`
	Hosts   []string `json:"hosts,omitempty"`
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	// Files are those that Command names, as the user approved them: where one
	// is not as it was, the program does not start.
	Files digest.Files `json:"files,omitempty"`
	// Confinement stands for what Options.Prepare does to the program, in any
	// form. When it differs from that of the client before, the server gets a
	// new process; see Client.Succeed.
	Confinement string `json:"confinement,omitempty"`
}

// check refuses what cannot be used.
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

// Client holds the connections to servers. It is safe for use by several
// goroutines.
type Client struct {
	options Options
	logger  *slog.Logger
	cache   listingCache
	hiding  atomic.Pointer[redact.Redactor] // takes secrets out; nil when there are none
	now     func() time.Time

	servers roster.Roster[*server]

	mu      sync.Mutex
	secrets []string
}

// New makes a client. It connects to nothing and touches no file.
func New(options Options) *Client {
	logger := options.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if options.MaxMessage <= 0 {
		options.MaxMessage = DefaultMaxMessage
	}
	c := &Client{options: options, logger: logger, cache: listingCache{dir: options.CacheDir}, now: time.Now}
	c.keep(options.Secrets)
	return c
}

// keep has values taken out of texts from now on.
func (c *Client) keep(values []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets = append(c.secrets, values...)
	c.hiding.Store(redact.New(c.secrets))
}

func (c *Client) hide(text string) string { return c.hiding.Load().String(text) }

// Add declares a server. The error is a *tool.Error: invalid_argument for a
// spec that cannot be used, conflict for a name that is taken.
func (c *Client) Add(spec Spec) error {
	if err := spec.check(); err != nil {
		return err
	}
	same := func(s *server) bool { return reflect.DeepEqual(s.spec, spec) && s.programUnchanged() }
	err := c.servers.Add(spec.Name, same, func() (*server, error) {
		s := newServer(c, spec)
		return s, s.authorized()
	})
	switch err {
	case roster.ErrClosed:
		return closedError(spec.Name)
	case roster.ErrTaken:
		return tool.Errorf(tool.Conflict, "two MCP servers are named %q",
			spec.Name).Suggest("Give one of them another name.")
	}
	return err
}

// Remove forgets a server, and ends it unless another client has it too.
// Removing an unknown one does nothing.
func (c *Client) Remove(name string) { c.servers.Remove(name) }

// Sources gives the tools of the servers to a host, in the order in which the
// servers were added.
func (c *Client) Sources() []*Source {
	var sources []*Source
	for _, s := range c.servers.All() {
		sources = append(sources, &Source{s})
	}
	return sources
}

// Load connects to every server whose tools are not known yet, at the same
// time, and returns when each is connected or has failed. It reports whether
// there was such a server.
func (c *Client) Load(ctx context.Context) bool {
	return c.connect(ctx, func(s *server) bool {
		_, known := s.known()
		return !known
	})
}

// Connect connects to every server, at the same time, and returns when each is
// connected or has failed.
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

// Close ends all connections that no other client has, and all servers that
// are programs with everything that they started. It returns when none of them
// is left, within a few seconds. The client cannot be used afterwards.
func (c *Client) Close() error {
	c.servers.Close()
	return nil
}

// Listed are all tools that the server is known to have, as it describes them,
// by its own names, whatever include and exclude say.
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

// Source is the tools of one server, as a host wants them.
type Source struct{ server *server }

// Name is "mcp" and the server's name.
func (s *Source) Name() string { return s.server.source() }

// Tools lists the tools: from the connection where there is one, from the
// cache where it holds what this server said, and otherwise by connecting; see
// Options.Patience. A server that cannot be reached keeps the tools it last
// had; calling them says why they are unavailable. The error is a *tool.Error
// of code unavailable as a rule.
func (s *Source) Tools(ctx context.Context) ([]tool.Tool, error) { return s.server.tools(ctx) }

// Succeed makes the client that is to take c's place after a change of the
// configuration. Servers are added to it as to any other. One with the same
// spec and program as a server of c is that very server: its connection goes
// on, with the calls under way. A server ends with the last client that has it,
// so both clients have to be closed; see HandOver.
func (c *Client) Succeed(options Options) *Client {
	next := New(options)
	next.servers.Follow(&c.servers)
	return next
}

// TryChanged connects, concurrently, to the servers that replace a connected
// server of the same name in the client before. It returns the first error, a
// *tool.Error, in the order in which the servers were added.
func (c *Client) TryChanged(ctx context.Context) error {
	running := func(old *server) bool { return old.status().State == Running }
	return c.servers.TryChanged(running, func(s *server) error {
		_, err := s.acquire(ctx)
		return err
	})
}

// HandOver ends the succession: c forgets the servers that next, which may be
// nil, has too. The names of the others are returned: they were changed or
// taken out, and stay for their calls until Remove or Close.
func (c *Client) HandOver(next *Client) (left []string) {
	if next == nil {
		return c.servers.HandOver(nil)
	}
	return c.servers.HandOver(&next.servers)
}

// programUnchanged reports whether the program is the one that was started
// last. One that never was is looked at when it is.
func (s *server) programUnchanged() bool {
	now := s.program()
	s.Lock()
	defer s.Unlock()
	return s.Starts == 0 || slices.Equal(s.launched, now)
}

// program stamps the program, and the script where it is an interpreter:
// further arguments name what a server works on, and may well change with it.
func (s *server) program() []stamp {
	spec := s.spec
	spec.Command = spec.Command[:min(len(spec.Command), 2)]
	return stamps(spec, s.client.options.Dir)
}
