// Package project assembles toolhost for a project: from agent.hcl and a toolset it makes the tools'
// sources, confines what they start, enforces the policy, and builds a host. It applies changes of
// agent.hcl while the host runs.
package project

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/telemetry"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/policy"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/source/pluginlock"
	"github.com/toolhost/toolhost/internal/source/plugins"
	"github.com/toolhost/toolhost/internal/store/approval"
	"github.com/toolhost/toolhost/internal/store/callid"
	"github.com/toolhost/toolhost/internal/store/effects"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/redact"
	"github.com/toolhost/toolhost/internal/store/sources"
	"github.com/toolhost/toolhost/internal/store/state"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// Options select a project and its user. Config, Logger and all functions are required.
type Options struct {
	// Config is the current configuration.
	Config *config.Config
	// Reread reads the configuration again, for Reload.
	Reread func() (*config.Config, error)
	// Broken is set if agent.hcl has mistakes: Config only names the file, and one tool that shows them
	// is offered until a Reload finds them corrected.
	Broken bool
	// ConfigFiles returns the files whose change requires a reload. Nil follows no change.
	ConfigFiles func() []string
	// Absent suggests what to do about an unknown tool; see host.Toolset. May be nil.
	Absent func(name string) string
	// Report prints mistakes in agent.hcl for the user, and returns the error to end with.
	Report func(config.Diagnostics) error
	// Workspace replaces the configuration's workspace directory. May be empty.
	Workspace string
	// Toolset is the toolset to offer. Empty offers all tools.
	Toolset string
	// Artifacts is the directory for this run's record. Empty means one for each session in the workspace.
	Artifacts string
	// Patience bounds the wait for unknown tools of MCP servers. Zero starts no server.
	Patience time.Duration
	// Version is toolhost's version for plugins and MCP servers.
	Version string
	// BeforeRun is the host's; see host.Options. May be nil.
	BeforeRun func(ctx context.Context, repeatable bool) error
	// Logger receives problems outside of calls.
	Logger *slog.Logger
	// OnSecrets is called with the project's redactor, for the log, when it has new secrets.
	OnSecrets func(*redact.Redactor)
	// Telemetry starts sending traces, once the workspace's root is known. It returns nil if not wanted.
	Telemetry func(root string) *telemetry.Relay
	// Flags are toolhost's flags that select this project, for code that shows its pending calls.
	Flags []string
	// HowToApprove tells an agent how its user approves a pending call in the workspace at root.
	HowToApprove func(pending approval.Pending, root string) string
}

// Project is a workspace with its configuration and host. It is safe for concurrent use.
type Project struct {
	Workspace *workspace.Workspace
	Host      *host.Host
	Recorder  *record.Recorder
	Undo      *undo.Store

	options   Options
	identity  string           // of the workspace's directory, which was opened once
	stateDir  string           // of the host's data about the workspace; "" for none
	callIDs   *callid.Names    // of the workspace
	stateless *tool.Error      // why there is no stateDir
	sources   sources.Kept     // output of plugins and MCP servers
	telemetry *telemetry.Relay // or nil
	store     *state.Store
	serves    bool // records beginning and end of sessions
	policy    atomic.Pointer[policy.Policy]
	granted   atomic.Pointer[[]tool.Permission]
	session   atomic.Pointer[string] // session of the last call
	calls     effects.Calls
	serving   sync.Map // *network.Serving, by the name of a plugin or MCP server

	decided atomic.Pointer[deciding] // of the last configuration

	mu       sync.Mutex // guards config and assembly against a reload
	config   *config.Config
	assembly *assembly

	swapping sync.Mutex    // one change of the tools at a time
	upstream chan struct{} // holds a token when an MCP server's tools changed
	warned   sync.Map      // logged messages about tools

	life        context.Context // until Close
	endLife     context.CancelFunc
	retiring    sync.WaitGroup // replaced assemblies
	ignored     atomic.Bool    // .agent is ignored by git
	toldRefused atomic.Bool    // a refused change was reported to doctor
	undoMissed  atomic.Bool    // the loss of the undo store was logged

	pluginSecrets  pluginSecrets
	configMistakes sync.Map // config.Diagnostics by source
}

// UsageError is a mistake in agent.hcl or on the command line.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the mistake.
func (e *UsageError) Unwrap() error { return e.Err }

func usage(err error) error { return &UsageError{err} }

// Open builds the host of a configuration. It starts no process. The user's mistakes are *UsageErrors,
// or the error of Options.Report.
func Open(ctx context.Context, options Options) (*Project, error) {
	p := &Project{options: options, config: withExistingTrees(options.Config, options.Logger),
		upstream: make(chan struct{}, 1)}
	p.life, p.endLife = context.WithCancel(context.WithoutCancel(ctx))
	if err := p.openWorkspace(); err != nil {
		p.endLife()
		return nil, err
	}
	p.telemetry = options.Telemetry(p.Workspace.Root())
	if err := p.openHost(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Project) openWorkspace() error {
	root, err := workspaceRoot(p.options.Workspace, p.config)
	if err != nil {
		return err
	}
	p.findState(root)
	if err := p.openUndo(); err != nil {
		return usage(err)
	}
	if p.Workspace, err = p.openTrees(root, p.config); err != nil {
		return usage(err)
	}
	p.identity = p.Workspace.Identity()
	return nil
}

// workspaceRoot returns the workspace's absolute path, maybe with symlinks.
func workspaceRoot(override string, cfg *config.Config) (string, error) {
	return filepath.Abs(cmp.Or(override, cfg.Workspace.Root, "."))
}

// withExistingTrees removes missing directories from workspace.allow: the project is usable without them.
func withExistingTrees(cfg *config.Config, logger *slog.Logger) *config.Config {
	missing := func(dir string) bool {
		_, err := os.Stat(dir)
		return errors.Is(err, fs.ErrNotExist)
	}
	if !slices.ContainsFunc(cfg.Workspace.Allow, missing) {
		return cfg
	}
	existing := *cfg
	existing.Workspace.Allow = nil
	for _, dir := range cfg.Workspace.Allow {
		if missing(dir) {
			logger.Warn("a directory of workspace.allow does not exist and is left out", "directory", dir)
			continue
		}
		existing.Workspace.Allow = append(existing.Workspace.Allow, dir)
	}
	return &existing
}

func (p *Project) openTrees(root string, cfg *config.Config) (*workspace.Workspace, error) {
	w, err := workspace.Open(root, p.treeOptions(root, cfg))
	if err != nil {
		return nil, err
	}
	judged := cfg.Workspace.Allow
	if p.options.Workspace == "" && cfg.Workspace.Root != "" {
		judged = append([]string{cfg.Workspace.Root}, judged...)
	}
	if err := cfg.Verify(judged...); err != nil { // again, now that they are held
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (p *Project) treeOptions(root string, cfg *config.Config) workspace.Options {
	return workspace.Options{
		Hidden:   masks(cfg).Hidden(treesOf(root, cfg)...),
		Identity: p.identity,
		Recorder: p.Undo.Recorder("", "", 0),
		Allow:    cfg.Workspace.Allow,
		Protect:  p.protectedGlobs(root, cfg),
	}
}

// held refuses calls if another directory replaced the opened one: names would lead there.
func (p *Project) held() error {
	return sandbox.Held{Path: p.Workspace.Root(), Identity: p.identity}.There()
}

func (p *Project) openHost(ctx context.Context) error {
	var err error
	if p.Recorder, err = p.openRecord(); err != nil {
		return err
	}
	if err := p.openState(); err != nil {
		return err
	}
	rules, err := p.openPolicy(p.config)
	if err != nil {
		return usage(err)
	}
	p.enforce(rules, p.config)
	p.assembly, err = p.assemble(p.config, rules)
	if err != nil {
		return err
	}
	p.Host, err = host.New(ctx, host.Options{
		Root:        p.Workspace.Root(),
		Sources:     p.assembly.sources,
		Toolset:     p.assembly.toolset,
		Limits:      host.Limits{Timeout: p.config.Limits.Timeout, Output: p.config.Limits.Output},
		Logger:      p.options.Logger,
		Recorder:    p.Recorder,
		Unrecorded:  p.unrecorded,
		Config:      func() string { return p.Config().SHA256 },
		State:       p.store.Scope,
		Ready:       p.held,
		BeforeRun:   p.options.BeforeRun,
		Judge:       p.judge,
		CallID:      p.callIDs.Next,
		CallContext: p.callContext,
		Effects:     p.effects,
		Trace:       p.tracing(),
		Remember:    p.remember,
		Approvals:   pendingApprovals{p},
		Views:       views{p},
		Sample:      p.sample,
		Secrets:     p.config.Secrets,
	})
	if err != nil {
		return usage(err)
	}
	p.keepPins()
	p.handOver()
	return nil
}

// tracing returns the function for the host's trace; nil without telemetry.
func (p *Project) tracing() func(context.Context, string, *tool.Call) (context.Context, func(*host.Outcome)) {
	if p.telemetry == nil {
		return nil
	}
	return p.telemetry.Tracer(func(data json.RawMessage) json.RawMessage { return p.Recorder.Redactor().JSON(data) })
}

// Config returns the current configuration. It must not be changed.
func (p *Project) Config() *config.Config {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.config
}

func (p *Project) current() *assembly {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.assembly
}

// Plugins returns the current manager of plugins.
func (p *Project) Plugins() *plugins.Manager { return p.current().manager }

// Lock returns the lock of the project's plugins, nil for a toolset without them.
func (p *Project) Lock() *pluginlock.Lock { return p.current().lock }

// Servers returns the client of the current MCP servers, nil if none.
func (p *Project) Servers() *mcpclient.Client { return p.current().upstream }

// Close ends everything that the project started.
func (p *Project) Close() {
	p.endLife()
	if p.Host != nil {
		p.Host.DropReviews(context.Background())
	}
	p.swapping.Lock() // a change being applied may be the last
	defer p.swapping.Unlock()
	p.retiring.Wait()
	if p.store != nil {
		p.forgetRefused(context.Background())
	}
	p.closeTasks()
	if p.assembly != nil {
		p.assembly.close()
	}
	if p.Undo != nil {
		p.Undo.Close()
	}
	for _, c := range []interface{ Close() error }{p.Recorder, p.store, p.callIDs, p.Workspace} {
		_ = c.Close()
	}
}

// TaskFiles returns the files that may change the listed commands.
func (p *Project) TaskFiles() []string {
	tasks := p.current().tasks
	if tasks == nil {
		return nil
	}
	return tasks.Watched(context.Background())
}

// Commands returns the names of the Taskfile's commands, if known without reading it, which CheckTasks
// does; nil without run_command.
func (p *Project) Commands() (names []string, known bool) {
	tasks := p.current().tasks
	if _, err := p.Host.Catalog().Lookup("run_command"); err != nil || tasks == nil {
		return nil, true
	}
	return tasks.Commands()
}

// CheckTasks returns the Taskfile's error, if any.
func (p *Project) CheckTasks(ctx context.Context) error {
	tasks := p.current().tasks
	if tasks == nil {
		return nil
	}
	return tasks.Check(ctx)
}
