// Package conformance checks that a program in any language follows the plugin protocol. It starts the program as
// toolhost does, several times, and talks to it directly, to find faults that a host would tolerate.
package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Options configures a run.
type Options struct {
	// Path is the program, Args its further arguments.
	Path string
	Args []string
	// Env are environment variables besides those of every program.
	Env map[string]string
	// Config is the configuration, a JSON object. Empty means {}.
	Config json.RawMessage
	// All calls the examples of all tools, not only read-only ones.
	All bool
	// Timeout bounds each step of a check. Zero means 10 seconds.
	Timeout time.Duration
}

// Outcome is the result of a check.
type Outcome string

// The outcomes of a check.
const (
	Pass Outcome = "pass"
	Fail Outcome = "fail"
	// Skip is for what the plugin does not offer, or what an earlier failure prevents.
	Skip Outcome = "skip"
)

// Check is the result of one check.
type Check struct {
	// Name is short and stable: "call.cancel".
	Name string `json:"name"`
	// Wants is the requirement.
	Wants   string  `json:"wants"`
	Outcome Outcome `json:"outcome"`
	// Detail is what was seen on failure, or why the check was skipped.
	Detail string        `json:"detail,omitempty"`
	Took   time.Duration `json:"took"`
}

// Report is the result of a run.
type Report struct {
	Plugin   string  `json:"plugin"`
	Version  string  `json:"version"`
	Protocol int     `json:"protocol"`
	Checks   []Check `json:"checks"`
	// Passed, Failed and Skipped count the checks.
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

// OK reports whether no check failed.
func (r *Report) OK() bool { return r.Failed == 0 }

// skipped ends a check without a result.
type skipped string

func (s skipped) Error() string { return string(s) }

func skip(format string, args ...any) error { return skipped(fmt.Sprintf(format, args...)) }

type check struct {
	name, wants string
	run         func(context.Context, *kit) error
}

type kit struct {
	options   Options
	workspace string
	main      *process // for most checks; nil if it did not start
	notStart  error    // why it did not
	plugin    *plugin  // main's description; nil if it has none
	report    *Report
}

var errNeedsStart = errors.New("the plugin does not start")

// Run runs all checks. It returns an error if none could run, such as when Options.Path is no program. The
// plugin's faults are in the report.
func Run(ctx context.Context, options Options) (*Report, error) {
	if info, err := os.Stat(options.Path); err != nil || !info.Mode().IsRegular() {
		return nil, tool.Errorf(tool.NotFound, "%s is not a program", options.Path).Suggest("Name the plugin's program.")
	}
	path, err := filepath.Abs(options.Path)
	if err != nil {
		return nil, err
	}
	options.Path = path
	if options.Timeout <= 0 {
		options.Timeout = 10 * time.Second
	}
	workspace, err := os.MkdirTemp("", "toolhost-kit-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(workspace)
	k := &kit{options: options, workspace: workspace, report: new(Report)}
	k.main, k.notStart = k.start(ctx, "1,2")
	defer func() {
		if k.main != nil {
			k.main.kill()
		}
	}()
	for _, c := range checks() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		k.check(ctx, c)
	}
	return k.report, nil
}

// check runs one check, within six step timeouts.
func (k *kit) check(ctx context.Context, c check) {
	began := time.Now()
	limit := 6 * k.options.Timeout
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	k.revive(ctx)
	err := c.run(ctx, k)
	result := Check{Name: c.name, Wants: c.wants, Took: time.Since(began)}
	var reason skipped
	switch {
	case err == nil:
		result.Outcome = Pass
		k.report.Passed++
	case errors.As(err, &reason):
		result.Outcome, result.Detail = Skip, err.Error()
		k.report.Skipped++
	default:
		result.Outcome, result.Detail = Fail, truncate.Shorten(err.Error(), maxDetail)
		k.report.Failed++
	}
	k.report.Checks = append(k.report.Checks, result)
}

// revive restarts the plugin if an earlier check ended it, so that checks are independent.
func (k *kit) revive(ctx context.Context) {
	if k.main == nil || k.main.alive() {
		return
	}
	p, err := k.start(ctx, "1,2")
	if err != nil {
		return
	}
	k.main.kill()
	k.main = p
	if k.plugin != nil {
		ctx, cancel := k.step(ctx)
		defer cancel()
		_, _ = k.configure(ctx, p)
	}
}

// maxDetail bounds the detail of a failure, in bytes.
const maxDetail = 1000

// step bounds one step of a check.
func (k *kit) step(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, k.options.Timeout)
}

// started returns the main process, or an error that skips the check.
func (k *kit) started() (*process, error) {
	if k.main == nil {
		return nil, skip("%v", errNeedsStart)
	}
	return k.main, nil
}

// another starts a second process, or returns an error that skips the check.
func (k *kit) another(ctx context.Context) (*process, error) {
	if _, err := k.started(); err != nil {
		return nil, err
	}
	return k.start(ctx, "1,2")
}

func (k *kit) ready() (*process, *plugin, error) {
	p, err := k.started()
	if err == nil && k.plugin == nil {
		err = skip("the plugin is not described and configured")
	}
	return p, k.plugin, err
}

func checks() []check {
	var all []check
	all = append(all, startChecks()...)
	all = append(all, describeChecks()...)
	all = append(all, callChecks()...)
	return append(all, endChecks()...)
}

func stepOf(run func(context.Context, *kit, *process) error) func(context.Context, *kit) error {
	return func(ctx context.Context, k *kit) error {
		p, err := k.started()
		if err != nil {
			return err
		}
		ctx, cancel := k.step(ctx)
		defer cancel()
		return run(ctx, k, p)
	}
}
