// Package conformance checks that a program in any language follows the plugin
// protocol. It starts the program as toolhost does, several times, and talks to
// it directly, so that faults show which a host would tolerate.
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
	"github.com/toolhost/toolhost/internal/text/excerpt"
)

// Options configure a run.
type Options struct {
	// Path is the program, Args its further arguments.
	Path string
	Args []string
	// Env are environment variables beside those that every program gets.
	Env map[string]string
	// Config is the configuration, a JSON object. Empty means {}.
	Config json.RawMessage
	// All has the examples of all tools called. Otherwise they are of those
	// that only read.
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
	// Skip is for what the plugin does not offer, or what cannot be checked
	// because an earlier check failed.
	Skip Outcome = "skip"
)

// Check is one thing that was checked.
type Check struct {
	// Name is short and stable: "call.cancel".
	Name string `json:"name"`
	// Wants says what a plugin has to do.
	Wants   string  `json:"wants"`
	Outcome Outcome `json:"outcome"`
	// Detail says what was seen where it failed, or why it was skipped.
	Detail string `json:"detail,omitempty"`
	// Took is how long it took.
	Took time.Duration `json:"took"`
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

// OK reports whether nothing failed.
func (r *Report) OK() bool { return r.Failed == 0 }

// skipped ends a check that says nothing.
type skipped string

func (s skipped) Error() string { return string(s) }

func skip(format string, args ...any) error { return skipped(fmt.Sprintf(format, args...)) }

// check is a check before it is run.
type check struct {
	name, wants string
	run         func(context.Context, *kit) error
}

// kit is one run.
type kit struct {
	options   Options
	workspace string
	main      *process // the process that most checks use; nil when it did not start
	notStart  error    // why main did not start
	plugin    *plugin  // what main says of itself; nil when it does not
	report    *Report
}

// errNeedsStart is the reason of checks that cannot be made.
var errNeedsStart = errors.New("the plugin does not start")

// Run runs all checks. It returns an error if none could be run, such as where
// Options.Path is no program. Faults of the plugin are in the report.
func Run(ctx context.Context, options Options) (*Report, error) {
	if info, err := os.Stat(options.Path); err != nil || !info.Mode().IsRegular() {
		return nil, tool.Errorf(tool.NotFound, "%s is no program", options.Path).Suggest("Name the plugin's program.")
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

// check runs one check, within six times the timeout of a step.
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
		result.Outcome, result.Detail = Fail, excerpt.Shorten(err.Error(), maxDetail)
		k.report.Failed++
	}
	k.report.Checks = append(k.report.Checks, result)
}

// revive starts the plugin again when an earlier check was the end of it, so
// that each check speaks for itself.
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

// maxDetail bounds what is told about a failure, in bytes.
const maxDetail = 1000

// step bounds one step of a check.
func (k *kit) step(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, k.options.Timeout)
}

// started gives the main process, or an error that skips the check.
func (k *kit) started() (*process, error) {
	if k.main == nil {
		return nil, skip("%v", errNeedsStart)
	}
	return k.main, nil
}

// ready gives the main process and what it said of itself.
func (k *kit) ready() (*process, *plugin, error) {
	p, err := k.started()
	if err == nil && k.plugin == nil {
		err = skip("the plugin is not described and configured")
	}
	return p, k.plugin, err
}

// checks lists all checks, in the order in which they are run.
func checks() []check {
	var all []check
	all = append(all, startChecks()...)
	all = append(all, describeChecks()...)
	all = append(all, callChecks()...)
	return append(all, endChecks()...)
}

// stepOf is a check that is one step with the main process.
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
