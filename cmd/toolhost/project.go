package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/host/record"
	"github.com/toolhost/toolhost/host/state"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/undo"
	"github.com/toolhost/toolhost/host/workspace"
	"github.com/toolhost/toolhost/plugins/shipped"
)

// project is a workspace with its configuration and the host over it.
type project struct {
	app       *app
	config    *config.Config
	workspace *workspace.Workspace
	host      *host.Host
	parts     *parts
	store     *state.Store
	recorder  *record.Recorder
	undo      *undo.Store
	owners    *owners // nil where tasks outlive the process
	policy    atomic.Pointer[policy.Policy]
	granted   atomic.Pointer[[]tool.Permission]
	session   atomic.Pointer[string] // of the last call

	mu sync.Mutex // guards config and parts against a reload

	swapping sync.Mutex    // one change of the tools at a time
	upstream chan struct{} // holds a token when an MCP server has other tools

	life        context.Context // until close
	endLife     context.CancelFunc
	retiring    sync.WaitGroup // of parts that have been replaced
	toldRefused atomic.Bool    // doctor was told of a change that is not used

	pluginSecrets pluginSecrets
}

// open finds agent.hcl, reads it and builds the host. Nothing is started.
func (a *app) open(ctx context.Context) (*project, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	a.keepSecret(cfg.Secrets)
	p := &project{app: a, config: cfg, upstream: make(chan struct{}, 1)}
	p.life, p.endLife = context.WithCancel(context.WithoutCancel(ctx))
	if err := p.openWorkspace(); err != nil {
		return nil, err
	}
	a.startTelemetry(ctx, p.workspace.Root())
	if err := p.openHost(ctx); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// loadConfig reads the agent.hcl that is meant. Without one the defaults hold.
func (a *app) loadConfig() (*config.Config, error) {
	path, err := a.configPath()
	if err != nil {
		return nil, err
	}
	if path == "" {
		if len(a.flags.vars) > 0 {
			return nil, usagef("Name the file with --config, or leave --var out.", "--var %s sets a variable of agent.hcl, and there is none here", a.flags.vars[0])
		}
		return new(config.Config), nil
	}
	cfg, err := a.readConfigFile(path)
	if err == nil && !a.trusted(cfg) {
		a.tellInert(cfg)
		a.inert, cfg = cfg, inert(a.withoutEnvironment(cfg))
	}
	return cfg, err
}

// withoutEnvironment reads a configuration again as if no environment variable
// were set: what remains of one that is not approved, as the names of tools,
// must not tell of them. One that makes no sense then says nothing at all.
func (a *app) withoutEnvironment(cfg *config.Config) *config.Config {
	vars, err := a.variables()
	unset := func(string) (string, bool) { return "", false }
	if again, diags := config.Load(cfg.Path, config.LoadOptions{Vars: vars, Env: unset}); err == nil && !diags.HasErrors() {
		return again
	}
	return &config.Config{Path: cfg.Path, Dir: cfg.Dir, SHA256: cfg.SHA256}
}

// readConfigFile reads a configuration, trusted or not.
func (a *app) readConfigFile(path string) (*config.Config, error) {
	vars, err := a.variables()
	if err != nil {
		return nil, err
	}
	cfg, diags := config.Load(path, config.LoadOptions{Vars: vars})
	if diags.HasErrors() {
		return nil, a.report(diags)
	}
	return cfg, nil
}

// report shows mistakes in agent.hcl and gives the error that ends the
// program because of them.
func (a *app) report(diags config.Diagnostics) error {
	if err := diags.Write(a.err, bool(a.painter)); err != nil {
		return err
	}
	return &exitError{code: exitUsage}
}

// configPath is the agent.hcl that is meant, "" where there is none.
func (a *app) configPath() (string, error) {
	if a.flags.config != "" {
		if _, err := os.Stat(a.flags.config); err != nil {
			return "", usagef("Give the path of an existing agent.hcl; toolhost init writes one.", "--config %s: %v", a.flags.config, err)
		}
		return a.flags.config, nil
	}
	dir := a.flags.workspace
	if dir == "" {
		dir = "."
	}
	path, _ := config.Find(dir)
	return path, nil
}

func (a *app) variables() (map[string]string, error) {
	vars := make(map[string]string)
	for _, pair := range a.flags.vars {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, usagef("Write --var NAME=VALUE.", "--var %s has no value", pair)
		}
		vars[name] = value
	}
	return vars, nil
}

func (p *project) openWorkspace() error {
	root, err := p.app.workspaceRoot(p.config)
	if err != nil {
		return err
	}
	if p.undo, err = p.openUndo(root); err != nil {
		return usage(err)
	}
	if p.workspace, err = p.openTrees(root, p.config); err != nil {
		return usage(err)
	}
	return nil
}

// workspaceRoot is the absolute path of the workspace, maybe with symlinks.
func (a *app) workspaceRoot(cfg *config.Config) (string, error) {
	return filepath.Abs(cmp.Or(a.flags.workspace, cfg.Workspace.Root, "."))
}

// openTrees opens the trees that a configuration allows.
func (p *project) openTrees(root string, cfg *config.Config) (*workspace.Workspace, error) {
	return workspace.Open(root, workspace.Options{
		Recorder: p.undo.Recorder("", "", 0),
		Allow:    cfg.Workspace.Allow,
		Protect:  append(workspace.DefaultProtect(), cfg.Workspace.Protect...),
	})
}

// openUndo names the store of what tools change. A root that does not exist
// is left for the workspace to complain about.
func (p *project) openUndo(root string) (*undo.Store, error) {
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return undo.Open(root, undo.Options{BestEffort: true, Logger: p.app.logger})
}

func (p *project) openHost(ctx context.Context) error {
	recorder, err := p.openRecord()
	if err != nil {
		return err
	}
	p.recorder = recorder
	p.store, err = state.Open(filepath.Join(p.workspace.Root(), ".agent", "state.db"))
	if err != nil {
		return err
	}
	rules, err := p.openPolicy(p.config)
	if err != nil {
		return usage(err)
	}
	p.enforce(rules, p.config)
	p.parts, err = p.assemble(p.config, rules)
	if err != nil {
		return err
	}
	p.host, err = host.New(ctx, host.Options{
		Root:        p.workspace.Root(),
		Sources:     p.parts.sources,
		Toolset:     p.parts.toolset,
		Limits:      host.Limits{Timeout: p.config.Limits.Timeout},
		Logger:      p.app.logger,
		Recorder:    p.recorder,
		State:       p.store.Scope,
		Judge:       p.judge,
		CallContext: p.callContext,
		Trace:       p.app.tracing(),
		Remember:    p.remember,
		Approvals:   elsewhere{p},
		Sample:      p.sample,
		Secrets:     p.config.Secrets,
	})
	if err != nil {
		return usage(err)
	}
	p.handOver()
	return nil
}

// close ends everything that the project started.
func (p *project) close() {
	p.endLife()
	p.swapping.Lock() // a change that is being taken over may be the last
	defer p.swapping.Unlock()
	p.retiring.Wait()
	if p.store != nil {
		p.forgetRefused(context.Background())
	}
	if p.parts != nil {
		p.parts.close()
	}
	p.owners.endAll()
	for _, c := range []interface{ Close() error }{p.recorder, p.store, p.workspace} {
		_ = c.Close()
	}
}

// taskFiles are the files whose change may change the commands that are
// listed.
func (p *project) taskFiles() []string {
	p.mu.Lock()
	tasks := p.parts.tasks
	p.mu.Unlock()
	if tasks == nil {
		return nil
	}
	return tasks.Watched(context.Background())
}

// selectToolset finds what --toolset names.
func (p *project) selectToolset(cfg *config.Config) (host.Toolset, error) {
	name := p.app.flags.toolset
	switch {
	case name == "":
		return host.Toolset{Name: "project"}, nil
	case slices.Contains(contracts(), name):
		return host.Toolset{Name: name, Envelope: true}, nil
	case name == "agent":
		return host.Toolset{Name: name, Tools: agentTools()}, nil
	}
	for _, set := range cfg.Toolsets {
		if set.Name == name {
			return host.Toolset{Name: name, Tools: set.Tools, Rename: set.Rename, Search: set.Search, Resources: set.Resources, Prompts: set.Prompts}, nil
		}
	}
	return host.Toolset{}, usagef("Known toolsets: "+strings.Join(toolsetNames(cfg), ", ")+".", "there is no toolset %q", name)
}

// contracts are the toolsets that a shipped plugin serves: all but the plugin
// of the standard file tools.
func contracts() []string {
	return slices.DeleteFunc(shipped.Names(), func(name string) bool { return name == "files" })
}

// agentTools are the names of contract "agent", in its order.
func agentTools() []string {
	return []string{
		"head", "tail", "cloc", "wc", "cp", "mv", "rm", "touch", "mkdir", "task",
		"read_file", "list_files", "write_file", "append_file", "edit_file", "multi_edit", "delete_file",
		"rg", "glob", "git_diff", "web_fetch", "html_to_markdown", "todowrite", "todoread",
		"list_commands", "run_command",
	}
}
