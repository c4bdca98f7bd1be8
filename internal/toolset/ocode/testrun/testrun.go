// Package testrun runs a project's tests with its own framework and returns counts, failures and
// coverage, from the framework's machine-readable report if it has one.
package testrun

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Framework names a test framework.
type Framework string

// The frameworks of contract 003, and go.
const (
	Pytest   Framework = "pytest"
	Unittest Framework = "unittest"
	Jest     Framework = "jest"
	Mocha    Framework = "mocha"
	Cargo    Framework = "cargo"
	Go       Framework = "go"
)

// DefaultTimeout is the time limit of a run without Options.Timeout.
const DefaultTimeout = 10 * time.Minute

// Limits of what is kept of a run.
const (
	outputCap     = 64 << 10  // bytes of each stream in the report
	reportLimit   = 64 << 20  // bytes of a framework's own report
	maxFailures   = 100       // failures that are listed
	messageLimit  = 4 << 10   // bytes of a failure's message
	eventLogLimit = 256 << 20 // bytes of go test's stream of events
)

// Request selects the tests to run.
type Request struct {
	// Framework is empty to detect it from the project's files.
	Framework Framework
	// Path is a file, a directory or a pattern in the framework's form. Empty means all tests.
	Path string
	// Verbose keeps the output of passing tests.
	Verbose bool
	// Coverage measures how much code the tests reach.
	Coverage bool
}

// Report is the result of a run.
type Report struct {
	Framework Framework
	// Command was run in Dir, relative to the workspace.
	Command []string
	Dir     string
	Passed  int
	Failed  int
	Skipped int
	// Duration is that of the whole run.
	Duration time.Duration
	ExitCode int
	// TimedOut is set if the time limit ended the run.
	TimedOut bool
	Failures []Failure
	// Coverage is nil if not requested or not available; Warnings then say why.
	Coverage *Coverage
	// Output is the framework's text, with its middle cut if long; OutputPath then has all of it.
	Output     string
	OutputPath string
	Truncated  bool
	// Warnings say what could not be done as requested, and other findings.
	Warnings []string
}

// OK reports whether the tests ran and none failed.
func (r *Report) OK() bool { return r.ExitCode == 0 && r.Failed == 0 && !r.TimedOut }

// Failure is a failed test.
type Failure struct {
	// Name is the framework's name of the test.
	Name string `json:"name"`
	// File is relative to the workspace if inside, "" if unknown. Line is 0 if unknown.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// Coverage is the share of code that tests reach.
type Coverage struct {
	// Percent counts lines, or statements if the framework counts those.
	Percent float64 `json:"percent"`
	// Of is "lines" or "statements".
	Of string `json:"of"`
}

// Options configure a Runner.
type Options struct {
	// Prepare confines the run. May be nil.
	Prepare func(*exec.Cmd) error
	// Timeout limits a run. Zero means DefaultTimeout.
	Timeout time.Duration
}

// Runner runs tests in a workspace.
type Runner struct {
	workspace *workspace.Workspace
	options   Options
}

// New returns a Runner.
func New(ws *workspace.Workspace, options Options) *Runner {
	if options.Timeout <= 0 {
		options.Timeout = DefaultTimeout
	}
	return &Runner{workspace: ws, options: options}
}

type adapter interface {
	// command returns what to run in j.dir, command_not_found if the framework is not installed.
	command(j *job) ([]string, error)
	// read fills in counts and failures. It returns false if the run left nothing to read.
	read(j *job, ended *proc.Result, r *Report) bool
}

type job struct {
	*Runner
	Request
	ctx context.Context
	// dir is the project's directory, a slash path relative to the workspace; target is Path
	// relative to dir, "" for all tests.
	dir, target string
	// exists is set if target is a file or directory, begins if it starts with the name of one.
	exists, isDir, begins bool
	scratch               string
	report                *Report
	onLine                func(stream, line string)
}

// Run runs tests. scratch is the absolute path of a directory that commands may write to; it is
// created if missing. onLine gets lines of output and may be nil. Failing tests are not an error.
// Errors: the workspace's for the path, invalid_argument for an unknown framework, not_found if no
// tests are recognized, command_not_found without the framework.
func (r *Runner) Run(ctx context.Context, request Request, scratch string, onLine func(stream, line string)) (*Report,
	error) {
	j := &job{Runner: r, Request: request, ctx: ctx, onLine: onLine, report: new(Report)}
	if err := j.locate(); err != nil {
		return nil, err
	}
	a, err := j.adapter()
	if err != nil {
		return nil, err
	}
	if err := j.makeScratch(scratch); err != nil {
		return nil, err
	}
	defer os.RemoveAll(j.scratch)
	argv, err := a.command(j)
	if err != nil {
		return nil, err
	}
	return j.run(a, argv, scratch)
}

func (j *job) adapter() (adapter, error) {
	switch j.Framework {
	case Pytest:
		return pytest{}, nil
	case Unittest:
		return unittest{}, nil
	case Jest:
		return jest{}, nil
	case Mocha:
		return mocha{}, nil
	case Cargo:
		return cargo{}, nil
	case Go:
		return new(goTest), nil
	}
	return nil, tool.Errorf(tool.InvalidArgument, "there is no test framework %q", j.Framework).
		Suggest("Use pytest, unittest, jest, mocha or cargo, or leave framework out to let the project's files " +
			"say; a Go module is found that way.")
}

func (j *job) makeScratch(scratch string) error {
	if err := os.MkdirAll(scratch, 0o755); err != nil {
		return fmt.Errorf("cannot make a directory for the report: %w", err)
	}
	dir, err := os.MkdirTemp(scratch, "tests-")
	if err != nil {
		return fmt.Errorf("cannot make a directory for the report: %w", err)
	}
	j.scratch = dir
	return nil
}

func (j *job) run(a adapter, argv []string, spill string) (*Report, error) {
	command := proc.Command{
		Argv: argv, Dir: filepath.Join(j.workspace.Root(), filepath.FromSlash(j.dir)),
		Env:     proc.Environ(map[string]string{"FORCE_COLOR": "0", "CI": "1"}),
		Timeout: j.options.Timeout, Cap: outputCap, Prepare: j.options.Prepare, OnLine: j.onLine,
		SpillDir: spill, SpillName: filepath.Base(j.scratch),
	}
	if g, ok := a.(*goTest); ok {
		// The event stream is for this program; a person's output is made from it.
		command.SpillDir, command.OnLine, command.Cap = "", g.listen(j.onLine), 1<<10
	}
	ended, err := proc.Run(j.ctx, command)
	if err != nil {
		return nil, err
	}
	if ended.Cancelled {
		return nil, tool.Errorf(tool.Cancelled, "the test run was cancelled")
	}
	r := j.report
	r.Framework, r.Command, r.Dir = j.Framework, argv, j.dir
	r.ExitCode, r.TimedOut, r.Duration = ended.ExitCode, ended.TimedOut, ended.Duration
	j.keepOutput(ended)
	switch counted := a.read(j, ended, r); {
	case !counted && !r.TimedOut:
		r.warn("%s left no report, so there are no counts", j.Framework)
	case r.OK() && r.Passed+r.Skipped == 0:
		r.warn("%s found no tests", j.Framework)
	}
	return r, nil
}

func (j *job) keepOutput(ended *proc.Result) {
	r := j.report
	r.Output = strings.TrimLeft(joinStreams(ended.Stdout.String(), ended.Stderr.String()), "\n")
	r.Truncated = ended.Stdout.Truncated() || ended.Stderr.Truncated()
	for _, o := range []proc.Output{ended.Stdout, ended.Stderr} {
		if o.Path != "" && r.OutputPath == "" {
			r.OutputPath = o.Path
		}
	}
}

func joinStreams(stdout, stderr string) string {
	if stdout != "" && stderr != "" && !strings.HasSuffix(stdout, "\n") {
		stdout += "\n"
	}
	return stdout + stderr
}

func (r *Report) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// fail adds a failure while the list has room.
func (r *Report) fail(f Failure) {
	if len(r.Failures) == maxFailures {
		if warning := fmt.Sprintf("only the first %d failures are listed", maxFailures); !slices.Contains(r.Warnings,
			warning) {
			r.Warnings = append(r.Warnings, warning)
		}
		return
	}
	f.Message = truncate.Shorten(f.Message, messageLimit)
	r.Failures = append(r.Failures, f)
}

// readScratch reads a file that the run left. Links that the run put there cannot lead out of the directory.
func (j *job) readScratch(name string) ([]byte, error) {
	root, err := os.OpenRoot(j.scratch)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > reportLimit:
		return nil, fmt.Errorf("%s is larger than %d MiB", name, reportLimit>>20)
	}
	return root.ReadFile(name)
}

// inWorkspace returns a framework's file name, relative to the workspace if inside.
func (j *job) inWorkspace(name string) string {
	if name == "" {
		return ""
	}
	if !filepath.IsAbs(name) {
		return path.Join(j.dir, filepath.ToSlash(name))
	}
	if rel, err := j.workspace.Rel(name); err == nil {
		return rel
	}
	return name
}
