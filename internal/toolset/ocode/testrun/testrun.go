// Package testrun runs the tests of a project with its own framework and reports counts, failures
// and coverage, from a report for machines if the framework writes one.
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
	"github.com/toolhost/toolhost/internal/text/excerpt"
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

// DefaultTimeout bounds a run unless Options say otherwise.
const DefaultTimeout = 10 * time.Minute

// Bounds of what is kept of a run.
const (
	outputCap     = 64 << 10  // bytes of each stream in the report
	reportLimit   = 64 << 20  // bytes of a framework's own report
	maxFailures   = 100       // failures that are listed
	messageLimit  = 4 << 10   // bytes of a failure's message
	eventLogLimit = 256 << 20 // bytes of go test's stream of events
)

// Request selects the tests to run.
type Request struct {
	// Framework is empty to let the project's files say.
	Framework Framework
	// Path is a file, a directory, or a pattern in the framework's own form. Empty means all tests.
	Path string
	// Verbose keeps the output of tests that pass.
	Verbose bool
	// Coverage asks for the share of the code that the tests reach.
	Coverage bool
}

// Report is how a run went.
type Report struct {
	Framework Framework
	// Command is what was run, in Dir, relative to the workspace.
	Command []string
	Dir     string
	Passed  int
	Failed  int
	Skipped int
	// Duration is how long the whole run took.
	Duration time.Duration
	ExitCode int
	// TimedOut is set when the run was ended for taking too long.
	TimedOut bool
	Failures []Failure
	// Coverage is nil if not requested or not available; Warnings then say why.
	Coverage *Coverage
	// Output is the framework's text, with its middle cut if long; OutputPath then has all of it.
	Output     string
	OutputPath string
	Truncated  bool
	// Warnings are what could not be done as requested, and other findings.
	Warnings []string
}

// OK reports whether the tests ran and none failed.
func (r *Report) OK() bool { return r.ExitCode == 0 && r.Failed == 0 && !r.TimedOut }

// Failure is one test that failed.
type Failure struct {
	// Name is how the framework calls the test.
	Name string `json:"name"`
	// File is the place, relative to the workspace if inside; it may be empty. Line is 0 if unknown.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// Coverage is the share of code that tests reach.
type Coverage struct {
	// Percent counts lines, or statements where the framework counts those.
	Percent float64 `json:"percent"`
	// Of is "lines" or "statements".
	Of string `json:"of"`
}

// Options shape a Runner.
type Options struct {
	// Prepare confines the run. Nil does not.
	Prepare func(*exec.Cmd) error
	// Timeout bounds a run. Zero means DefaultTimeout.
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

// adapter is what a framework does its own way.
type adapter interface {
	// command is what to run in j.dir. Errors: command_not_found if the framework is not installed.
	command(j *job) ([]string, error)
	// read fills in counts and failures from what the run left. False means that there was nothing to read.
	read(j *job, ended *proc.Result, r *Report) bool
}

// job is one run.
type job struct {
	*Runner
	Request
	ctx context.Context
	// dir is the project's directory, a slash path relative to the workspace; target is Path
	// relative to it, "" for all tests.
	dir, target string
	// exists is set if target is a file or directory, begins if it begins with the name of one.
	exists, isDir, begins bool
	// scratch is where the framework writes its report, absolute.
	scratch string
	report  *Report
	onLine  func(stream, line string)
}

// Run runs tests. scratch is the absolute path of a directory that commands may write to; it is
// made if missing. onLine, which may be nil, gets lines of output. Failing tests are not an error.
// Errors: those of the workspace for the path, invalid_argument for an unknown framework, not_found
// without recognized tests, command_not_found without the framework.
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

// makeScratch makes the run's own directory.
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
		// The stream of events is for us; what a person reads is made of it.
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

// fail notes a failure, as long as there is room in the list.
func (r *Report) fail(f Failure) {
	if len(r.Failures) == maxFailures {
		if warning := fmt.Sprintf("only the first %d failures are listed", maxFailures); !slices.Contains(r.Warnings,
			warning) {
			r.Warnings = append(r.Warnings, warning)
		}
		return
	}
	f.Message = excerpt.Shorten(f.Message, messageLimit)
	r.Failures = append(r.Failures, f)
}

// readScratch reads a file that the run left, which may have put links there: none leads out of the directory.
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
