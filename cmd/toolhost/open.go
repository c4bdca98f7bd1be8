package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/agentfile"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/show"
	"github.com/toolhost/toolhost/internal/telemetry"
	"github.com/toolhost/toolhost/internal/trust"
)

// open reads the agent.hcl that is meant and builds the host. Nothing is
// started.
func (a *app) open(ctx context.Context) (*project.Project, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	return a.openWith(ctx, cfg, a.standing.Load(), false)
}

// openBroken is open for a server whose agent.hcl has mistakes.
func (a *app) openBroken(ctx context.Context) (*project.Project, error) {
	path, err := a.configPath()
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	cfg := &config.Config{Path: path, Dir: dir, Workspace: config.Workspace{Root: dir}}
	return a.openWith(ctx, cfg, &agentfile.Standing{Config: cfg, Watch: []string{path}}, true)
}

func (a *app) openWith(ctx context.Context, cfg *config.Config, standing *agentfile.Standing,
	broken bool) (*project.Project, error) {
	a.keepSecret(cfg.Secrets)
	if trees := cfg.CheckTrees(); a.flags.workspace == "" && trees.HasErrors() {
		return nil, a.report(trees)
	}
	held := &inForce{app: a, standing: standing}
	p, err := project.Open(ctx, project.Options{
		Config: cfg, Reread: held.again, ConfigFiles: held.files, Absent: a.absent, Report: a.report, Broken: broken,
		Workspace: a.flags.workspace, Toolset: a.flags.toolset, Artifacts: a.flags.artifacts,
		Patience: a.patience, Anew: a.anew, Version: version(), Logger: a.logger, OnSecrets: a.redactor.Store,
		Telemetry:    func(root string) *telemetry.Relay { return a.startTelemetry(ctx, root) },
		HowToApprove: a.howToApprove,
	})
	if wrong, ok := errors.AsType[*project.UsageError](err); ok {
		return nil, usage(wrong.Err)
	}
	return p, err
}

// loadConfig reads the agent.hcl that is meant, as far as it counts. Without
// one the defaults hold.
func (a *app) loadConfig() (*config.Config, error) {
	standing, err := a.findStanding()
	if err != nil {
		return nil, err
	}
	if standing.Path == "" && len(a.flags.vars) > 0 {
		return nil, usagef("Name the file with --config, or leave --var out.",
			"--var %s sets a variable of agent.hcl, and there is none here", a.flags.vars[0])
	}
	if root := standing.Config.Workspace.Root; standing.State != agentfile.Approved && a.flags.workspace == "" {
		if why := agentfile.NoProject(root); why != "" {
			return nil, usagef("Start it in a project, name the directory with --workspace DIR, or approve an agent.hcl there: toolhost init --workspace DIR writes one.",
				"%s is not taken as the workspace: %s", root, why)
		}
	}
	a.noteStanding(standing)
	return standing.Config, nil
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
	if a.reported != nil {
		*a.reported = append(*a.reported, diags...)
		return &exitError{code: exitUsage}
	}
	if err := a.writeMistakes(diags); err != nil {
		return err
	}
	return &mistakesError{exitError{code: exitUsage}, diags}
}

// writeMistakes shows mistakes with their lines of source. On a terminal a line
// that is too long goes on behind a colon.
func (a *app) writeMistakes(diags config.Diagnostics) error {
	width := terminalWidth(a.err)
	if width == 0 {
		return diags.Write(a.err, bool(a.painter))
	}
	var text bytes.Buffer
	if err := diags.Write(&text, bool(a.painter)); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if plain := colour.ReplaceAllString(line, ""); len(plain) > width {
			line = show.Note(plain, 2, width)
		}
		if _, err := io.WriteString(a.err, line); err != nil {
			return err
		}
	}
	return nil
}

// colour is a sequence that sets how what follows looks.
var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// mistakesError ends the program because of mistakes in agent.hcl, which have
// been shown.
type mistakesError struct {
	exitError
	mistakes config.Diagnostics
}

// Unwrap has errors.As find the exit code.
func (e *mistakesError) Unwrap() error { return &e.exitError }

// configPath is the agent.hcl that is meant, "" where there is none.
func (a *app) configPath() (string, error) {
	if a.flags.config != "" {
		if _, err := os.Stat(a.flags.config); err != nil {
			return "", usagef("Give the path of an existing agent.hcl; toolhost init writes one.", "--config %s: %v",
				a.flags.config, err)
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

// inForce is the agent.hcl that a running project has.
type inForce struct {
	app      *app
	mu       sync.Mutex
	standing *agentfile.Standing
}

// files are those whose change may change what is in force.
func (f *inForce) files() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.standing.Watch
}

// again reads the configuration again; the error holds the mistakes that were
// shown. What the user has approved stays in force as long as nothing else is
// approved, and the approval is not taken back.
func (f *inForce) again() (*config.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var said strings.Builder
	telling := *f.app
	telling.err, telling.painter = io.MultiWriter(f.app.err, &said), false
	next, err := telling.findStanding()
	if wrong, ok := errors.AsType[*mistakesError](err); ok {
		wrong.err = errors.New(strings.TrimSpace(said.String()))
	}
	if err != nil {
		return nil, err
	}
	if next.State != agentfile.Approved && f.stillApproved() {
		kept := *next
		kept.Kept = true
		f.app.standing.Store(&kept)
		text, hint := kept.Explain()
		return nil, &project.KeptError{Reason: text, Next: hint}
	}
	f.standing = next
	telling.noteStanding(next)
	return next.Config, nil
}

// stillApproved reports whether what is in force was approved, and that was not
// taken back.
func (f *inForce) stillApproved() bool {
	dir, err := trust.Dir()
	return err == nil && f.standing.State == agentfile.Approved && agentfile.Holds(trust.Open(dir), f.standing.Config)
}
