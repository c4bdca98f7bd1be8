// Package plugins starts plugins, talks to them and ends them. It gives the
// tools of a plugin as tools of the host, starts the process at the first
// call, and keeps everything that a plugin may do wrong from reaching the host
// or another plugin.
package plugins

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
	"github.com/toolhost/toolhost/internal/source/roster"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// ProtocolVersion is the newest version of the plugin protocol that the
// manager speaks.
const ProtocolVersion = wire.ProtocolVersion

// DefaultStartTimeout is how long a plugin may take from its start to being
// configured.
const DefaultStartTimeout = 10 * time.Second

// Attachment is where a plugin that runs already can be reached.
type Attachment = wire.Attachment

// AttachVariable is the environment variable by which an operator names plugins
// that run already; see ParseAttach.
const AttachVariable = wire.AttachVariable

// ParseAttach reads what AttachVariable holds: a JSON object with an
// Attachment by the name of each plugin. Empty text is none.
func ParseAttach(text string) (map[string]Attachment, error) {
	if text == "" {
		return nil, nil
	}
	var all map[string]Attachment
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, tool.Errorf(tool.InvalidArgument,
			"%s is not what a plugin prints when it is run with the argument attach: %w", AttachVariable, err).
			Suggest("Copy the value between the quotes whole.")
	}
	for name, a := range all {
		if !filepath.IsAbs(a.Socket) || a.Protocol < wire.OldestVersion || a.Protocol > ProtocolVersion {
			return nil, tool.Errorf(tool.InvalidArgument,
				"%s: plugin %s needs the absolute path of a socket, and a protocol from %d to %d",
				AttachVariable, name, wire.OldestVersion,
				ProtocolVersion).Suggest("Copy the value between the quotes whole.")
		}
	}
	return all, nil
}

// Options say how plugins are run. The zero value works, without shipped
// plugins and without a schema cache.
type Options struct {
	// Logger receives what plugins print and log, and what happens to them.
	// Nil discards.
	Logger *slog.Logger
	// Dir is where the private directory of the sockets is made. Empty, or a
	// name too long for a socket's, means the system's directory for temporary
	// files.
	Dir string
	// CacheDir keeps what plugins said of themselves, so that listing their
	// tools starts none. Empty keeps nothing.
	CacheDir string
	// Workspace is what the plugins work on.
	Workspace sdk.Workspace
	// HostVersion is told to the plugins.
	HostVersion string
	// Shipped finds a plugin that is part of the host binary. Nil means none.
	Shipped func(name string) (sdk.Plugin, bool)
	// Prepare changes the command of a plugin before it starts, such as to
	// confine it. An error keeps the plugin from starting. Nil leaves it be.
	Prepare func(Launch) error
	// Denied says what of a plugin's failure its confinement is behind, by what
	// the plugin printed; "" for nothing. Nil says nothing.
	Denied func(plugin, printed string) string
	// CancelGrace is how long a call whose context has ended may take to
	// answer before its plugin is ended. Zero means 5 seconds.
	CancelGrace time.Duration
	// MaxBackoff bounds the pause before a plugin that keeps failing is started
	// again. Zero means 30 seconds.
	MaxBackoff time.Duration
	// Attach names plugins that run already, by their names in the
	// configuration: they are connected to and neither started nor ended.
	Attach map[string]Attachment
	// Redact takes secrets out of what plugins print, before it is logged, kept
	// or shown. Nil leaves it be.
	Redact func(string) string
	// Said is called with each line that a plugin printed or logged, as far as it is
	// logged, without secrets. Nil is not called.
	Said func(plugin, line string)
	// Life is called with the events in the life of a plugin's process, which
	// are the Life constants. ctx has the values of the context in which the
	// process was started, and no end. Life must not call the manager. Nil is
	// not called.
	Life func(ctx context.Context, plugin, event string, details map[string]any)
	// Sensitive is called with the values of settings that a plugin's schema
	// marks as writeOnly, before they are used, so that the host can keep them
	// out of what it shows. Nil is not called.
	Sensitive func(values []string)
}

// Spec declares one plugin.
type Spec struct {
	// Name is the plugin's name in the configuration, unique in a manager.
	Name string
	// Path is the plugin's program. Ignored for shipped plugins.
	Path string
	// Shipped is true for a plugin that is part of the host binary.
	Shipped bool
	// InProcess has the tools of a shipped plugin called in the host's own
	// process, for one that needs no isolation from it: none of what is said
	// here of processes is about it then.
	InProcess bool
	// Args are further arguments of the program.
	Args []string
	// Env are environment variables of the plugin, beside a few of the host's
	// that every program needs.
	Env map[string]string
	// SHA256 is the checksum that the program must have, in hexadecimal.
	// Empty accepts any.
	SHA256 string
	// Repair says how to get the right program where the checksum is another.
	Repair string
	// Confinement stands for what Options.Prepare does to this plugin, in any
	// form that reflect.DeepEqual compares. When it differs from that of the
	// manager before, the plugin gets a new process; see Manager.Succeed.
	Confinement any
	// Config is the plugin's configuration, a JSON object. Empty means {}.
	Config json.RawMessage
	// ResolveConfig makes the configuration from the JSON Schema that the
	// plugin declares for it, which is empty for none. Config then only serves
	// to compare configurations. An error keeps the plugin from starting. Nil
	// checks Config itself against the schema.
	ResolveConfig func(declared json.RawMessage) (json.RawMessage, error)
	// Prefix goes before the names of the plugin's tools.
	Prefix string
	// StartTimeout bounds the start. Zero means DefaultStartTimeout.
	StartTimeout time.Duration
	// CallTimeout bounds a call of any of the plugin's tools, in place of
	// what the tools say themselves. Zero leaves it to them.
	CallTimeout time.Duration
	// Problem is why the plugin cannot be used, where that is known without its
	// program: it is not installed, say. Nil means none.
	Problem *tool.Error
	// IdleTimeout is how long the process may go unused before it is ended;
	// the next call starts it again. Zero keeps it.
	IdleTimeout time.Duration
	// Since is when a restart of the plugin was last asked for. A later time gives it a
	// new process.
	Since time.Time
	// Granted are the permissions that the plugin has. A tool that asks for
	// others is refused. Nil grants what the tools ask for.
	Granted []tool.Permission
}

// Manager runs plugins. It is safe for use by several goroutines.
type Manager struct {
	options Options
	logger  *slog.Logger
	plugins roster.Roster[*plugin]
	*shared
}

// NewManager makes a manager. It starts nothing and touches no file.
func NewManager(options Options) *Manager {
	logger := options.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if options.Redact == nil {
		options.Redact = func(s string) string { return s }
	}
	if options.CancelGrace <= 0 {
		options.CancelGrace = wire.CancelGrace
	}
	return &Manager{
		options: options,
		logger:  logger,
		shared: &shared{
			sockets: &socketDir{base: options.Dir},
			cache:   &schemaCache{dir: options.CacheDir},
			users:   1,
		},
	}
}

// Add declares a plugin. The error is a *tool.Error: invalid_argument for a
// spec that cannot be used, conflict for a name that is taken.
func (m *Manager) Add(spec Spec) error {
	same := func(p *plugin) bool { return p.is(spec, m.options.Workspace) }
	err := m.plugins.Add(spec.Name, same, func() (*plugin, error) { return newPlugin(m, spec) })
	switch err {
	case roster.ErrClosed:
		return closedError(spec.Name)
	case roster.ErrTaken:
		return tool.Errorf(tool.Conflict, "two plugins are named %q", spec.Name).
			Suggest("Give one of them another name.")
	}
	return err
}

// Remove forgets a plugin, and ends it unless another manager has it too.
// Removing an unknown one does nothing.
func (m *Manager) Remove(name string) { m.plugins.Remove(name) }

// Source gives the plugin's tools to a host. An unknown name gives a source
// whose Tools fails.
func (m *Manager) Source(name string) *Source {
	p, _ := m.plugins.Find(name)
	return &Source{name: name, plugin: p}
}

// Sources gives the sources of all plugins, in the order in which they were
// added.
func (m *Manager) Sources() []*Source {
	var out []*Source
	for _, p := range m.plugins.All() {
		out = append(out, &Source{name: p.spec.Name, plugin: p})
	}
	return out
}

// Status tells how each plugin is, sorted by name. It starts none.
func (m *Manager) Status() []Status {
	out := []Status{}
	for _, p := range m.plugins.All() {
		out = append(out, p.status())
	}
	slices.SortFunc(out, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Try starts, concurrently, the plugins that have a process and have not failed, which
// their Status then tells.
func (m *Manager) Try(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range m.plugins.All() {
		if s := p.status(); s.LastError == nil && s.State != InProcess {
			all.Go(func() { _ = p.start(ctx) })
		}
	}
	all.Wait()
}

// Close ends all plugins that no other manager has, with everything that they
// started, and returns when none of them is left. It takes a few seconds at
// most. The manager cannot be used afterwards.
func (m *Manager) Close() error {
	if !m.plugins.Close() {
		return nil
	}
	return m.leave()
}

// Source is the tools of one plugin, as a host wants them.
type Source struct {
	name   string
	plugin *plugin
}

// Name is "plugin" and the plugin's name.
func (s *Source) Name() string { return "plugin " + s.name }

// Tools lists the tools: from the host binary for a shipped plugin, from the
// cache where it holds what this very program said under this configuration,
// and otherwise by starting the plugin. A plugin that cannot be started keeps
// the tools it last had; calling them says why they are unavailable. The error
// is a *tool.Error, of code unavailable as a rule.
func (s *Source) Tools(ctx context.Context) ([]tool.Tool, error) {
	if s.plugin == nil {
		return nil, tool.Errorf(tool.NotFound, "there is no plugin named %q", s.name).
			Suggest("Declare it in a plugin block of agent.hcl.")
	}
	return s.plugin.tools(ctx)
}

// KnownTools lists the tools where that takes neither a start nor the reading
// of a program. A host asks it first.
func (s *Source) KnownTools() ([]tool.Tool, bool) {
	if s.plugin == nil {
		return nil, false
	}
	return s.plugin.knownTools()
}

// Describe gives what the plugin says of itself, starting it if need be.
func (s *Source) Describe(ctx context.Context) (*Description, error) {
	if _, err := s.Tools(ctx); err != nil {
		return nil, err
	}
	return s.plugin.describe(ctx)
}

func closedError(name string) *tool.Error {
	return tool.Errorf(tool.Unavailable, "plugin %s was ended with the host", name).
		Suggest("Start toolhost again.")
}

// Succeed makes the manager that is to take m's place after a change of the
// configuration. Plugins are added to it as to any other. One with the same
// spec, program and workspace as a plugin of m is that very plugin: its process
// runs on, with its calls and its state. A plugin ends with the last manager
// that has it, so both managers have to be closed; see HandOver.
func (m *Manager) Succeed(options Options) *Manager {
	next := NewManager(options)
	next.plugins.Follow(&m.plugins)
	next.shared = m.shared
	next.shared.use()
	return next
}

// TryChanged starts, concurrently, the plugins that replace a running plugin of
// the same name in the manager before. It returns the first error, a
// *tool.Error, in the order in which the plugins were added.
func (m *Manager) TryChanged(ctx context.Context) error {
	return m.plugins.TryChanged((*plugin).runs, func(p *plugin) error { return p.start(ctx) })
}

// HandOver ends the succession: m forgets the plugins that next, which may be
// nil, has too. The names of the others are returned: they were changed or
// taken out, and run on for their calls until Remove or Close.
func (m *Manager) HandOver(next *Manager) (left []string) {
	if next == nil {
		return m.plugins.HandOver(nil)
	}
	return m.plugins.HandOver(&next.plugins)
}

// is reports whether the plugin is the one that spec declares in a workspace,
// with the program as it is now. The functions ResolveConfig cannot be
// compared; Config tells them apart.
func (p *plugin) is(spec Spec, workspace sdk.Workspace) bool {
	known := p.spec
	known.ResolveConfig, spec.ResolveConfig = nil, nil
	return reflect.DeepEqual(p.manager.options.Workspace, workspace) && reflect.DeepEqual(known, spec) &&
		p.programUnchanged()
}

// programUnchanged reports whether the program is the one that was started
// last. One that never was is looked at when it is.
func (p *plugin) programUnchanged() bool {
	if _, attached := p.attachment(); attached || p.spec.Shipped {
		return true
	}
	now := p.programIdentity()
	p.Lock()
	defer p.Unlock()
	return p.Starts == 0 || p.launched == now && now != (identity{})
}

// runs reports whether the process is there.
func (p *plugin) runs() bool {
	p.Lock()
	defer p.Unlock()
	return p.Current != nil && p.Current.isReady()
}

// start has the process run.
func (p *plugin) start(ctx context.Context) error {
	in, err := p.acquire(ctx)
	if err == nil {
		p.done(in)
	}
	return err
}

// shared is what a manager and its successors have in common.
type shared struct {
	sockets *socketDir
	cache   *schemaCache

	mu    sync.Mutex
	users int
}

func (s *shared) use() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
}

// leave is the end of a use; after the last the sockets' directory goes.
func (s *shared) leave() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	return s.sockets.remove()
}
