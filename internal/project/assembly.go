package project

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/builtin"
	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/source/command"
	"github.com/toolhost/toolhost/internal/source/command/standard"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/source/model"
	"github.com/toolhost/toolhost/internal/source/pluginlock"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/store/hmackey"
	"github.com/toolhost/toolhost/internal/store/pins"
	"github.com/toolhost/toolhost/internal/store/sources"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/store/userdir"
	"github.com/toolhost/toolhost/plugins/sdk"
	"github.com/toolhost/toolhost/taskfile"
)

// assembly has the sources of a project's tools, for one state of its agent.hcl.
type assembly struct {
	sources []host.Source
	toolset host.Toolset
	manager *plugins.Manager
	tasks   *taskfile.Taskfile
	model   *model.Client // or nil

	workspace *workspace.Workspace
	changed   bool // workspace belongs to this assembly, not to the project
	protect   []string

	upstream *mcpclient.Client // or nil
	lock     *pluginlock.Lock  // of the plugins; nil for a fixed contract
	pins     *pins.Store       // of foreign tools; or nil
	claims   []claim           // of those sources to names
}

func (p *assembly) close() {
	if p.manager != nil {
		_ = p.manager.Close()
	}
	if p.model != nil {
		p.model.Close()
	}
	if p.upstream != nil {
		_ = p.upstream.Close()
	}
	if p.changed {
		_ = p.workspace.Close()
	}
}

func (p *Project) assemble(cfg *config.Config, rules *policy.Policy) (*assembly, error) {
	if p.options.Broken && cfg == p.options.Config {
		return p.brokenAssembly(cfg)
	}
	set, err := SelectToolset(cfg, p.options.Toolset)
	if err != nil {
		return nil, err
	}
	if !builtinToolset(set.Name).OwnPermissions {
		set.Hide = func(name string, def *tool.Definition) *host.Decision {
			d, always := rules.AlwaysDenied(policy.Request{Tool: name, Risk: def.Risk, Permissions: def.Permissions})
			if !always {
				return nil
			}
			return &host.Decision{Action: host.Deny, Rule: d.Rule, Reason: d.Reason}
		}
	}
	if cfg.ReadOnly {
		set.Hide = writes
	}
	if !set.Envelope {
		set.Absent = p.options.Absent
	}
	made := &assembly{toolset: set}
	if err := p.fill(made, cfg); err != nil {
		made.close()
		return nil, err
	}
	return made, nil
}

func (p *Project) fill(made *assembly, cfg *config.Config) (err error) {
	if made.workspace, err = p.workspaceFor(made, cfg); err != nil {
		return err
	}
	if made.manager, err = p.newManager(cfg, made.protect); err != nil {
		return err
	}
	if made.model, err = newModel(cfg); err != nil {
		return usage(err)
	}
	if name := made.toolset.Name; made.toolset.Envelope {
		return made.addShipped(plugins.Spec{Name: name, Config: tool.MustMarshal(p.contractConfig(name, cfg))})
	}
	return p.addSources(made, cfg)
}

// workspaceFor returns a configuration's workspace: the project's own, or one with changed trees and
// protected paths.
func (p *Project) workspaceFor(made *assembly, cfg *config.Config) (*workspace.Workspace, error) {
	made.protect = p.protectedGlobs(p.Workspace.Root(), cfg)
	if p.assembly == nil {
		return p.Workspace, nil
	}
	root, err := workspaceRoot(p.options.Workspace, cfg)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(root); err != nil || real != p.Workspace.Root() {
		return nil,
			tool.Errorf(tool.Conflict, "workspace.root has changed, and a running server cannot change its workspace").
				Suggest("Restart the server, or undo the change in agent.hcl.")
	}
	if slices.Equal(p.config.Workspace.Allow, cfg.Workspace.Allow) && slices.Equal(p.assembly.protect, made.protect) &&
		!p.assembly.changed {
		return p.Workspace, nil
	}
	made.changed = true
	return p.openTrees(p.Workspace.Root(), cfg)
}

// standardOnly reports whether only the standard tools are offered: for the contract "agent", or for an
// unapproved file.
func (m *assembly) standardOnly(cfg *config.Config) bool {
	return m.toolset.Name == "agent" || cfg.ReadOnly
}

// writes hides what is not read-only.
func writes(_ string, def *tool.Definition) *host.Decision {
	if def.Risk == tool.ReadOnly &&
		!slices.ContainsFunc(def.Permissions, func(p tool.Permission) bool { return p != tool.FileRead }) {
		return nil
	}
	return &host.Decision{Action: host.Deny, Reason: "only read-only tools are offered while agent.hcl is not approved"}
}

// addShipped offers a shipped plugin's tools, without replaced ones.
func (m *assembly) addShipped(spec plugins.Spec, replaced ...string) error {
	spec.Shipped = true
	if undo.Optional() {
		spec.Env = map[string]string{undo.OptionalEnv: os.Getenv(undo.OptionalEnv)}
	}
	if err := m.manager.Add(spec); err != nil {
		return err
	}
	m.sources = append(m.sources, host.Without(m.manager.Source(spec.Name), replaced...))
	return nil
}

// addSources adds, in order of listing: built-ins, commands, the files plugin, the Taskfile, the
// project's plugins and MCP servers. A tool of agent.hcl replaces the standard one of its name, from
// any source.
func (p *Project) addSources(m *assembly, cfg *config.Config) error {
	var own []argv.Spec
	if !m.standardOnly(cfg) {
		own = cfg.Tools
	}
	replaced := make([]string, len(own))
	for i := range own {
		replaced[i] = own[i].Name
	}
	commands, err := p.commands(m, cfg, own)
	if err != nil {
		return usage(err)
	}
	builtins, err := p.builtins(m, cfg)
	if err != nil {
		return usage(err)
	}
	m.tasks = p.newTaskfile(m, cfg)
	m.sources = append(m.sources,
		host.Without(host.Tools("builtin", builtins...), replaced...),
		commands,
		host.Without(host.Tools("taskfile", m.tasks.Tools()...), replaced...),
	)
	// The file tools are confined by the built-ins' rules: a process of their own would take twice the
	// time and protect nothing.
	settings := map[string]any{"confine": p.confineSettings(cfg)}
	files := plugins.Spec{Name: "files", InProcess: true, Config: tool.MustMarshal(settings)}
	if err := m.addShipped(files, replaced...); err != nil {
		return err
	}
	if m.standardOnly(cfg) {
		return nil
	}
	m.pins = p.openPins(cfg)
	if err := p.addPlugins(m, cfg); err != nil {
		return err
	}
	return p.addUpstream(m, cfg)
}

func (p *Project) addPlugins(m *assembly, cfg *config.Config) error {
	var diags config.Diagnostics
	if m.lock, diags = pluginlock.For(cfg); diags.HasErrors() {
		return p.options.Report(diags)
	}
	common := p.commonSettings(cfg)
	for i := range cfg.Plugins {
		plugin := &cfg.Plugins[i]
		spec, err := p.pluginSpec(plugin)
		if err != nil {
			return err
		}
		spec.Confinement = confinement{common, &plugin.Access, cfg.Workspace.Allow, "", credentialsDigest(common)}
		spec.Since = p.sources.Since(sources.Plugin, spec.Name)
		m.lock.Resolve(*plugin, &spec)
		if err := m.manager.Add(spec); err != nil {
			return usage(err)
		}
		source := host.Prefixed(m.manager.Source(plugin.Name), plugin.Prefix)
		if spec.SHA256 == "" { // those who can change the program can do more than change a description
			m.sources = append(m.sources, host.Foreign(source, nil))
			continue
		}
		m.sources = append(m.sources, m.foreign(source, func(own string) string {
			return tool.PortableName(plugin.Prefix+own, host.MaxForeignName)
		}))
	}
	return nil
}

func (p *Project) builtins(m *assembly, cfg *config.Config) ([]tool.Tool, error) {
	client, err := netguard.New(netguard.Options{Allow: cfg.Web.Allow, MaxBytes: cfg.Web.MaxSize,
		Timeout: cfg.Web.Timeout})
	if err != nil {
		return nil, err
	}
	return builtin.Tools(m.workspace, client, builtin.Options{Unescape: cfg.Builtins.Unescape, Key: p.hmacKey(cfg)}),
		nil
}

// hmacKey returns the key that authenticates toolhost's files in the workspace, nil without a safe
// place for it.
func (p *Project) hmacKey(cfg *config.Config) *hmackey.Key {
	dir, err := hmackey.Dir()
	if err != nil {
		return nil
	}
	key, err := hmackey.Open(dir, append([]string{p.Workspace.Root()}, cfg.Workspace.Allow...)...)
	if err != nil {
		return nil
	}
	return key
}

// commands returns the own tools, and the standard wrappers that these do not replace.
func (p *Project) commands(m *assembly, cfg *config.Config, own []argv.Spec) (host.Source, error) {
	standards := slices.DeleteFunc(standard.Specs(), func(s argv.Spec) bool {
		return slices.ContainsFunc(own, func(o argv.Spec) bool { return o.Name == s.Name })
	})
	var limit *proc.Limit
	if cfg.Limits.Processes > 0 {
		limit = proc.NewLimit(cfg.Limits.Processes)
	}
	deps := command.Deps{Workspace: m.workspace, OutputCap: int(cfg.Limits.Output), Timeout: cfg.Limits.Timeout,
		Limit: limit, Secrets: cfg.Secrets}
	tools := make([]tool.Tool, 0, len(standards)+len(own))
	for i, spec := range slices.Concat(standards, own) {
		deps.Prepare, deps.Denied = p.confine(cfg, "tool", spec.Name, i < len(standards), spec.Risk)
		t, err := command.New(spec, deps)
		if err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	source := host.Tools("command", tools...)
	if m.standardOnly(cfg) {
		return source, nil
	}
	resources, prompts, err := p.ownOffers(cfg, deps)
	return host.Offering(source, resources, prompts), err
}

func (p *Project) newManager(cfg *config.Config, protect []string) (*plugins.Manager, error) {
	attach, err := plugins.ParseAttach(os.Getenv(plugins.AttachVariable))
	if err != nil {
		return nil, usage(err)
	}
	prepare, denied := p.confinePlugin(cfg)
	options := plugins.Options{
		Attach:      attach,
		Logger:      p.options.Logger,
		CacheDir:    userdir.Cache("plugins"),
		Workspace:   sdk.Workspace{Root: p.Workspace.Root(), Allow: cfg.Workspace.Allow, Protect: protect},
		HostVersion: p.options.Version,
		Redact:      func(s string) string { return p.Recorder.Redactor().String(s) },
		Sensitive:   p.keepPluginSecrets,
		Shipped:     shippedPlugin,
		Said:        func(plugin, line string) { p.keepLine(sources.Plugin, plugin, line) },
		Serving: func(ctx context.Context, plugin string) (done func()) {
			return p.servingOf(sources.Plugin, plugin).Begin(ctx)
		},
		Life:    p.pluginLife,
		Prepare: prepare,
		Denied:  denied,
	}
	if p.assembly != nil {
		return p.assembly.manager.Succeed(options), nil
	}
	return plugins.NewManager(options), nil
}

// pluginSpec returns a plugin block's spec. Its configuration is checked when the plugin's schema is
// known.
func (p *Project) pluginSpec(c *config.Plugin) (plugins.Spec, error) {
	settings, diags := c.Config.JSON(nil)
	if diags.HasErrors() {
		return plugins.Spec{}, p.options.Report(diags)
	}
	return plugins.Spec{
		Name: c.Name, Path: c.Source, SHA256: c.SHA256, Args: c.Args, Env: c.Env,
		Config: settings, ResolveConfig: p.resolveConfig(c), StartTimeout: c.StartTimeout, CallTimeout: c.Timeout,
		IdleTimeout: idleTimeout(c.IdleTimeout), Granted: c.Permissions,
	}, nil
}

// defaultIdleTimeout ends an unused foreign plugin. Shipped ones may hold a session's state, and stay.
const defaultIdleTimeout = 15 * time.Minute

// idleTimeout converts idle_timeout for the manager.
func idleTimeout(given time.Duration) time.Duration {
	switch {
	case given < 0:
		return 0
	case given == 0:
		return defaultIdleTimeout
	}
	return given
}

// resolveConfig checks a plugin's config block against the plugin's schema, and keeps the mistakes with
// their lines.
func (p *Project) resolveConfig(c *config.Plugin) func(json.RawMessage) (json.RawMessage, error) {
	return func(declared json.RawMessage) (json.RawMessage, error) {
		settings, diags := c.Config.JSON(declared)
		diags = diags.Redacted(p.Recorder.Redactor().String)
		p.configMistakes.Store("plugin "+c.Name, diags)
		if diags.HasErrors() {
			return nil, tool.Errorf(tool.InvalidArgument, "the configuration of plugin %q is wrong: %s", c.Name,
				diags.Brief()).
				Suggest("Correct the config block at %s; toolhost plugin describe %s shows what it may hold.", c.Pos,
					c.Name)
		}
		return settings, nil
	}
}

// ConfigMistakes returns the mistakes in a plugin's config block, if its schema was seen.
func (p *Project) ConfigMistakes(source string) config.Diagnostics {
	found, _ := p.configMistakes.Load(source)
	mistakes, _ := found.(config.Diagnostics)
	return mistakes
}

func (p *Project) newTaskfile(m *assembly, cfg *config.Config) *taskfile.Taskfile {
	policy := p.taskPolicy(cfg)
	options := taskfile.Options{OutputCap: int(cfg.Limits.Output), CacheDir: userdir.Cache("tasks"),
		Prepare: func(cmd *exec.Cmd) (map[string]any, error) {
			if err := verifiedTasks(cfg, p.Workspace.Root()); err != nil {
				return nil, err
			}
			return policy.ConfineTelling(cmd)
		}}
	options.Denied = func(printed string) string { return policy.Denied(taskBlock(cfg), printed) }
	if t := cfg.Taskfile; t != nil {
		options.Path, options.Timeout = t.Path, t.Timeout
	}
	return taskfile.New(m.workspace, options)
}

func (p *Project) ownOffers(cfg *config.Config, deps command.Deps) ([]tool.Resource, []tool.Prompt, error) {
	var resources []tool.Resource
	for _, declared := range cfg.Resources {
		deps.Prepare, deps.Denied = p.confine(cfg, "resource", declared.Name, false, declared.Risk)
		r, err := command.NewResource(declared, deps)
		if err != nil {
			return nil, nil, err
		}
		resources = append(resources, r)
	}
	var prompts []tool.Prompt
	for _, declared := range cfg.Prompts {
		made, err := command.NewPrompt(declared, deps)
		if err != nil {
			return nil, nil, err
		}
		prompts = append(prompts, made)
	}
	return resources, prompts, nil
}
