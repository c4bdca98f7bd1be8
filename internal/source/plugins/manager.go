// Package plugins runs plugins and offers their tools to the host. It starts a plugin's process at the first
// call, and isolates the host and other plugins from its failures.
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
	"github.com/toolhost/toolhost/internal/source/registry"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// ProtocolVersion is the newest version of the plugin protocol supported.
const ProtocolVersion = wire.ProtocolVersion

// DefaultStartTimeout bounds a plugin's start until it is configured.
const DefaultStartTimeout = 10 * time.Second

// Attachment is the address of a plugin that already runs.
type Attachment = wire.Attachment

// AttachVariable is the environment variable that names plugins that already run; see ParseAttach.
const AttachVariable = wire.AttachVariable

// ParseAttach parses AttachVariable: a JSON object of Attachments by plugin name, or "".
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

// Options configures a Manager. The zero value works, without shipped plugins and without a schema cache.
type Options struct {
	// Logger receives plugins' output, log messages and state changes. Nil discards.
	Logger *slog.Logger
	// Dir is the parent of the private socket directory. By default, or if its path is too long for a socket, it is
	// the system's temporary directory.
	Dir string
	// CacheDir caches plugins' descriptions, so that listing their tools starts none. Empty means no
	// cache.
	CacheDir string
	// Workspace is what the plugins work on.
	Workspace sdk.Workspace
	// HostVersion is toolhost's version as plugins see it.
	HostVersion string
	// Shipped finds a plugin that is part of the host binary. May be nil.
	Shipped func(name string) (sdk.Plugin, bool)
	// Prepare changes a plugin's command before its start, for example to confine it. An error prevents the
	// start. May be nil.
	Prepare func(Launch) error
	// Denied explains a plugin's failure by confinement, from its output; "" if that was not the cause. May be
	// nil.
	Denied func(plugin, printed string) string
	// CancelGrace is how long a cancelled call may take to answer before its plugin is ended. Zero means 5 seconds.
	CancelGrace time.Duration
	// MaxBackoff bounds the pause before a failing plugin is restarted. Zero means 30 seconds.
	MaxBackoff time.Duration
	// Attach has plugins that already run, by their names in the configuration: they are connected to and
	// neither started nor ended.
	Attach map[string]Attachment
	// Redact removes secrets from plugins' output. May be nil.
	Redact func(string) string
	// Said, unless nil, is called with each line that a plugin printed or logged, without secrets.
	Said func(plugin, line string)
	// Serving, unless nil, is called before each call to a plugin's process, and done after it.
	Serving func(ctx context.Context, plugin string) (done func())
	// Life, unless nil, is called with the events of a plugin's process (the Life constants). ctx has the values of
	// the start's context, and no end. Life must not call the manager.
	Life func(ctx context.Context, plugin, event string, details map[string]any)
	// Sensitive, unless nil, is called with the values of settings that a plugin's schema marks as
	// writeOnly, before their use, for redaction.
	Sensitive func(values []string)
}

// Spec declares one plugin.
type Spec struct {
	// Name is the plugin's name in the configuration, unique in a manager.
	Name string
	// Path is the plugin's program. Ignored for shipped plugins.
	Path string
	// Shipped is set for a plugin of the host binary.
	Shipped bool
	// InProcess calls the tools of a shipped plugin in the host's own process, without isolation. Fields about
	// processes are then ignored.
	InProcess bool
	// Args are further arguments of the program.
	Args []string
	// Env are environment variables besides the few that every program needs.
	Env map[string]string
	// SHA256 is the program's required checksum, in hex. Empty accepts any.
	SHA256 string
	// Repair says how to get the right program if the checksum differs.
	Repair string
	// Confinement stands for what Options.Prepare does to this plugin, compared by reflect.DeepEqual. A change
	// gives the plugin a new process; see Manager.Succeed.
	Confinement any
	// Config is the configuration, a JSON object. Empty means {}.
	Config json.RawMessage
	// ResolveConfig makes the configuration from the plugin's JSON Schema for it, possibly empty. Config then only
	// serves to compare configurations. An error prevents the start. If nil, Config is validated against the
	// schema.
	ResolveConfig func(declared json.RawMessage) (json.RawMessage, error)
	// Prefix goes before the names of the plugin's tools.
	Prefix string
	// StartTimeout bounds the start. Zero means DefaultStartTimeout.
	StartTimeout time.Duration
	// CallTimeout, unless zero, replaces the timeout of the plugin's tools.
	CallTimeout time.Duration
	// Problem is why the plugin cannot be used, if known without its program, such as a missing installation. May
	// be nil.
	Problem *tool.Error
	// IdleTimeout ends a process that long unused; the next call starts it again. Zero keeps it.
	IdleTimeout time.Duration
	// Since is the last requested restart. A later time gives the plugin a new process.
	Since time.Time
	// Granted are the plugin's permissions. A tool that needs others is refused. Nil grants what the tools ask for.
	Granted []tool.Permission
}

// Manager runs plugins. It is safe for concurrent use.
type Manager struct {
	options Options
	logger  *slog.Logger
	plugins registry.Registry[*plugin]
	*shared
}

// NewManager returns a manager. It starts nothing and touches no file.
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

// Add declares a plugin. The error is a *tool.Error: invalid_argument for an invalid spec, conflict for a name in
// use.
func (m *Manager) Add(spec Spec) error {
	same := func(p *plugin) bool { return p.is(spec, m.options.Workspace) }
	err := m.plugins.Add(spec.Name, same, func() (*plugin, error) { return newPlugin(m, spec) })
	switch err {
	case registry.ErrClosed:
		return closedError(spec.Name)
	case registry.ErrTaken:
		return tool.Errorf(tool.Conflict, "two plugins are named %q", spec.Name).
			Suggest("Give one of them another name.")
	}
	return err
}

// Remove removes a plugin, and ends it unless another manager has it too. An unknown name is ignored.
func (m *Manager) Remove(name string) { m.plugins.Remove(name) }

// Source returns the plugin's tools for a host. If the name is unknown, its Tools fails.
func (m *Manager) Source(name string) *Source {
	p, _ := m.plugins.Find(name)
	return &Source{name: name, plugin: p}
}

// Sources returns the sources of all plugins, in the order they were added.
func (m *Manager) Sources() []*Source {
	var out []*Source
	for _, p := range m.plugins.All() {
		out = append(out, &Source{name: p.spec.Name, plugin: p})
	}
	return out
}

// Status returns the status of each plugin, sorted by name, without starting any.
func (m *Manager) Status() []Status {
	out := []Status{}
	for _, p := range m.plugins.All() {
		out = append(out, p.status())
	}
	slices.SortFunc(out, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Try starts, concurrently, the plugins that have a process and have not failed; see Status for the
// results.
func (m *Manager) Try(ctx context.Context) {
	var all sync.WaitGroup
	for _, p := range m.plugins.All() {
		if s := p.status(); s.LastError == nil && s.State != InProcess {
			all.Go(func() { _ = p.start(ctx) })
		}
	}
	all.Wait()
}

// Close ends all plugins that no other manager has, with their descendants, within a few seconds. The manager
// cannot be used afterwards.
func (m *Manager) Close() error {
	if !m.plugins.Close() {
		return nil
	}
	return m.leave()
}

// Source is the tools of one plugin for a host.
type Source struct {
	name   string
	plugin *plugin
}

// Name is "plugin" and the plugin's name.
func (s *Source) Name() string { return "plugin " + s.name }

// Tools lists the tools: from the host binary for a shipped plugin, from the cache if it matches program and
// configuration, or by starting the plugin. A plugin that cannot be started keeps its last tools; calling them
// says why they are unavailable. The error is a *tool.Error, usually of code unavailable.
func (s *Source) Tools(ctx context.Context) ([]tool.Tool, error) {
	if s.plugin == nil {
		return nil, tool.Errorf(tool.NotFound, "there is no plugin named %q", s.name).
			Suggest("Declare it in a plugin block of agent.hcl.")
	}
	return s.plugin.tools(ctx)
}

// KnownTools lists the tools if that needs neither a start nor reading the program. A host calls it
// first.
func (s *Source) KnownTools() ([]tool.Tool, bool) {
	if s.plugin == nil {
		return nil, false
	}
	if s.plugin.shipped != nil {
		return s.plugin.shippedTools(), true
	}
	if d, ok := s.plugin.known(); ok {
		return s.plugin.remotes(d), true
	}
	return nil, false
}

// Describe returns the plugin's description, starting it if necessary.
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

// Succeed returns the manager that replaces m after a change of the configuration. Plugins are added to it as
// usual. One with the same spec, program and workspace as in m is the same plugin: its process continues, with its
// calls and state. A plugin ends with its last manager, so both must be closed; see HandOver.
func (m *Manager) Succeed(options Options) *Manager {
	next := NewManager(options)
	next.plugins.Follow(&m.plugins)
	next.shared = m.shared
	next.shared.use()
	return next
}

// TryChanged starts, concurrently, the plugins that replace a running one of the same name in the
// previous manager. It returns the first error, a *tool.Error, in the order of Add.
func (m *Manager) TryChanged(ctx context.Context) error {
	return m.plugins.TryChanged((*plugin).runs, func(p *plugin) error { return p.start(ctx) })
}

// HandOver ends the succession: m drops the plugins that next, which may be nil, has too. It returns the names of
// the others, changed or removed, which continue for their calls until Remove or Close.
func (m *Manager) HandOver(next *Manager) (left []string) {
	if next == nil {
		return m.plugins.HandOver(nil)
	}
	return m.plugins.HandOver(&next.plugins)
}

// is reports whether the plugin is the one that spec declares in a workspace, with its present program.
// Functions cannot be compared; Config stands for ResolveConfig.
func (p *plugin) is(spec Spec, workspace sdk.Workspace) bool {
	known := p.spec
	known.ResolveConfig, spec.ResolveConfig = nil, nil
	return reflect.DeepEqual(p.manager.options.Workspace, workspace) && reflect.DeepEqual(known, spec) &&
		p.programUnchanged()
}

// programUnchanged reports whether the program is the one started last, if ever started.
func (p *plugin) programUnchanged() bool {
	if _, attached := p.attachment(); attached || p.spec.Shipped {
		return true
	}
	now := p.programIdentity()
	p.Lock()
	defer p.Unlock()
	return p.Starts == 0 || p.launched == now && now != (identity{})
}

func (p *plugin) runs() bool {
	p.Lock()
	defer p.Unlock()
	return p.Current != nil && p.Current.isReady()
}

func (p *plugin) start(ctx context.Context) error {
	in, err := p.acquire(ctx)
	if err == nil {
		p.done(in)
	}
	return err
}

// shared is shared with the manager's successors.
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

// leave ends a use; the last one removes the sockets' directory.
func (s *shared) leave() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 {
		return nil
	}
	return s.sockets.remove()
}
