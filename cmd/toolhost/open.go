package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/project"
	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/telemetry"
)

// open reads the agent.hcl that is meant and builds the host. Nothing is
// started.
func (a *app) open(ctx context.Context) (*project.Project, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	return a.openWith(ctx, cfg, false)
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
	return a.openWith(ctx, &config.Config{Path: path, Dir: dir, Workspace: config.Workspace{Root: dir}}, true)
}

func (a *app) openWith(ctx context.Context, cfg *config.Config, broken bool) (*project.Project, error) {
	a.keepSecret(cfg.Secrets)
	p, err := project.Open(ctx, project.Options{
		Config: cfg, Reread: a.loadConfigAgain, Report: a.report, Broken: broken,
		Workspace: a.flags.workspace, Toolset: a.flags.toolset, Artifacts: a.flags.artifacts,
		Patience: a.patience, Version: version(), Logger: a.logger, OnSecrets: a.redactor.Store,
		Telemetry:    func(root string) *telemetry.Relay { return a.startTelemetry(ctx, root) },
		HowToApprove: a.howToApprove,
	})
	if wrong, ok := errors.AsType[*project.UsageError](err); ok {
		return nil, usage(wrong.Err)
	}
	return p, err
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
	return &mistakesError{exitError{code: exitUsage}, diags}
}

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

// loadConfigAgain is loadConfig whose error holds the mistakes that were
// shown.
func (a *app) loadConfigAgain() (*config.Config, error) {
	var said strings.Builder
	telling := *a
	telling.err, telling.painter = io.MultiWriter(a.err, &said), false
	telling.inert = nil
	cfg, err := telling.loadConfig()
	if err == nil {
		a.inert = telling.inert
	}
	if wrong, ok := errors.AsType[*mistakesError](err); ok {
		wrong.err = errors.New(strings.TrimSpace(said.String()))
	}
	return cfg, err
}
