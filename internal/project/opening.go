package project

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/internal/face/telemetry"
	"github.com/toolhost/toolhost/internal/installation"
	"github.com/toolhost/toolhost/internal/project/agentfile"
	"github.com/toolhost/toolhost/internal/store/approval"
	"github.com/toolhost/toolhost/internal/store/redact"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// Opening opens the project of a Location as far as its agent.hcl is approved, and follows the file.
// Logger and Standing are required. The other fields are those of [Options].
type Opening struct {
	Location
	Toolset, Artifacts, Version string
	Patience                    time.Duration
	Logger                      *slog.Logger
	BeforeRun                   func(ctx context.Context, repeatable bool) error
	// LogSecrets are kept out of the log. May be nil.
	LogSecrets *LogSecrets
	// Standing is the agent.hcl's standing, once found.
	Standing *atomic.Pointer[agentfile.Standing]
	// Report prints mistakes, and returns the error to end with, which wraps a *MistakesError. May be nil.
	Report func(config.Diagnostics) error
	// Note shows the standing that was found. May be nil.
	Note func(*agentfile.Standing)
	// Telemetry is StartTelemetry, for code that closes what it starts.
	Telemetry func(root string) *telemetry.Relay
	// HowToApprove is that of [Options]. Nil names toolhost approve.
	HowToApprove func(pending approval.Pending, root string) string
}

// MistakesError are mistakes in agent.hcl.
type MistakesError struct{ Found config.Diagnostics }

// Error shows the mistakes with their lines of source.
func (e *MistakesError) Error() string {
	var text strings.Builder
	if err := e.Found.Write(&text, false); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(text.String())
}

func (o *Opening) report(diags config.Diagnostics) error {
	if o.Report == nil {
		return &MistakesError{diags}
	}
	return o.Report(diags)
}

// Find finds the selected agent.hcl, and reports its mistakes.
func (o *Opening) Find() (*agentfile.Standing, error) {
	if err := userdir.Usable(); err != nil {
		return nil, err
	}
	standing, diags := o.Location.Find()
	if diags.HasErrors() {
		return nil, o.report(diags)
	}
	return standing, nil
}

// Load is Find that also refuses directories that cannot be a project, and calls Note.
func (o *Opening) Load() (*agentfile.Standing, error) {
	standing, err := o.Find()
	if err == nil {
		err = o.usable(standing)
	}
	if err != nil {
		return nil, err
	}
	o.setStanding(standing)
	return standing, nil
}

func (o *Opening) setStanding(standing *agentfile.Standing) {
	o.Standing.Store(standing)
	if o.Note != nil {
		o.Note(standing)
	}
}

// Open reads the selected agent.hcl and builds the host. It starts nothing.
func (o *Opening) Open(ctx context.Context) (*Project, error) {
	standing, err := o.Load()
	if err != nil {
		return nil, err
	}
	return o.open(ctx, standing, false)
}

// openBroken is Open for a server whose agent.hcl has mistakes.
func (o *Opening) openBroken(ctx context.Context) (*Project, error) {
	path := o.Path()
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	cfg := &config.Config{Path: path, Dir: dir, Workspace: config.Workspace{Root: dir}}
	return o.open(ctx, &agentfile.Standing{Config: cfg, Watch: []string{path}}, true)
}

func (o *Opening) open(ctx context.Context, standing *agentfile.Standing, broken bool) (*Project, error) {
	cfg := standing.Config
	o.LogSecrets.Store(redact.WithShapes(cfg.Secrets))
	if trees := cfg.CheckTrees(); o.Workspace == "" && trees.HasErrors() {
		return nil, o.report(trees)
	}
	held := &inForce{opening: o, standing: standing}
	howToApprove := o.HowToApprove
	if howToApprove == nil {
		howToApprove = o.howToApprove
	}
	return Open(ctx, Options{
		Config: cfg, Reread: held.again, ConfigFiles: held.files, Report: o.report, Broken: broken,
		Absent:    func(string) string { return absent(o.Standing.Load()) },
		Workspace: o.Workspace, Toolset: o.Toolset, Artifacts: o.Artifacts, Patience: o.Patience,
		Version: o.Version, Logger: o.Logger, OnSecrets: o.LogSecrets.Store, Telemetry: o.Telemetry,
		Flags: o.flags(), HowToApprove: howToApprove, BeforeRun: o.BeforeRun,
	})
}

// StartTelemetry sends traces if the environment names a collector; otherwise it returns nil.
func StartTelemetry(ctx context.Context, workspace string, logger *slog.Logger) *telemetry.Relay {
	if !telemetry.Asked() {
		return nil
	}
	var relay *telemetry.Relay
	binary, err := installation.OTel.Find(workspace)
	if err == nil {
		relay, err = telemetry.Start(telemetry.Options{Binary: binary, Logger: logger})
	}
	if err != nil {
		logger.WarnContext(ctx, "there is no telemetry", "error", err)
	}
	return relay
}

// inForce is the agent.hcl of a running project.
type inForce struct {
	opening  *Opening
	mu       sync.Mutex
	standing *agentfile.Standing
}

// files returns the files whose change may change what is in force.
func (f *inForce) files() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.standing.Watch
}

// again reads the configuration again; mistakes are a *MistakesError.
func (f *inForce) again() (*config.Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next, err := f.opening.Find()
	if wrong, ok := errors.AsType[*MistakesError](err); ok {
		return nil, wrong
	}
	if err != nil {
		return nil, err
	}
	f.standing = next
	f.opening.setStanding(next)
	return next.Config, nil
}
