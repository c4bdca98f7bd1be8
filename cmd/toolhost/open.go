package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/face/telemetry"
	"github.com/toolhost/toolhost/internal/project"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

func (a *app) opening(ctx context.Context) (*project.Opening, error) {
	location, err := a.location()
	return &project.Opening{
		Location: location, Toolset: a.flags.toolset, Artifacts: a.flags.artifacts, Version: version(),
		Patience: a.patience, Logger: a.logger, LogSecrets: a.secrets, Standing: a.standing,
		Report: a.report, Note: a.noteStanding,
		Telemetry: func(root string) *telemetry.Relay {
			if a.telemetry == nil {
				a.telemetry = project.StartTelemetry(ctx, root, a.logger)
			}
			return a.telemetry
		},
	}, err
}

// location returns where the flags locate agent.hcl.
func (a *app) location() (project.Location, error) {
	vars, err := a.variables()
	if err == nil {
		_, err = a.configPath()
	}
	return project.Location{Workspace: a.flags.workspace, File: a.flags.config, Trust: a.flags.trust,
		Vars: vars}, err
}

// inProject returns a command's function that opens the project, calls do, and closes the project.
func (a *app) inProject(do func(*cobra.Command, []string, *project.Project) error) func(*cobra.Command,
	[]string) error {
	return func(c *cobra.Command, args []string) error {
		p, err := a.open(c.Context())
		if err != nil {
			return err
		}
		defer p.Close()
		return do(c, args, p)
	}
}

// open reads the selected agent.hcl and builds the host. It starts nothing.
func (a *app) open(ctx context.Context) (*project.Project, error) {
	opening, err := a.opening(ctx)
	if err != nil {
		return nil, err
	}
	p, err := opening.Open(ctx)
	return p, a.asUsage(err)
}

func (a *app) asUsage(err error) error {
	if wrong, ok := errors.AsType[*project.UsageError](err); ok {
		return usage(wrong.Err)
	}
	return err
}

// loadConfig reads the selected agent.hcl as far as it is in force. Without one, defaults apply.
func (a *app) loadConfig() (*config.Config, error) {
	opening, err := a.opening(context.Background())
	if err != nil {
		return nil, err
	}
	standing, err := opening.Load()
	if err != nil {
		return nil, a.asUsage(err)
	}
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

// report prints mistakes in agent.hcl and returns the error that ends the program.
func (a *app) report(diags config.Diagnostics) error {
	if a.reported != nil {
		*a.reported = append(*a.reported, diags...)
		return &exitError{code: exitUsage}
	}
	if err := a.writeMistakes(diags); err != nil {
		return err
	}
	return &mistakesError{exitError{code: exitUsage}, &project.MistakesError{Found: diags}}
}

// writeMistakes prints mistakes with their source lines. On a terminal a long line continues behind a
// colon.
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
		if plain := colour().ReplaceAllString(line, ""); len(plain) > width {
			line = show.Note(plain, 2, width)
		}
		if _, err := io.WriteString(a.err, line); err != nil {
			return err
		}
	}
	return nil
}

// colour matches a sequence that sets how text looks.
var colour = regexlimit.Lazy(`\x1b\[[0-9;]*m`)

// mistakesError ends the program after mistakes in agent.hcl were printed.
type mistakesError struct {
	exitError
	mistakes *project.MistakesError
}

// Unwrap lets errors.As find the exit code and the mistakes.
func (e *mistakesError) Unwrap() []error { return []error{&e.exitError, e.mistakes} }

// configPath returns the selected agent.hcl, or "".
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
