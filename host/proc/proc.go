// Package proc runs one child process to its end: without a shell, without
// stdin, in a process group of its own, under a time limit, with both output
// streams captured apart and bounded, and with nothing left running behind.
//
// On Linux, processes that leave the group (setsid, double fork) are found by
// a mark in their environment and ended too. A process that also clears its
// environment is out of reach for this package; a PID namespace (package
// host/sandbox) holds that one as well.
package proc

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Defaults of Command.
const (
	DefaultGrace = 2 * time.Second
	DefaultCap   = 64 << 10
)

// markName is the environment variable by which a run's processes are found.
const markName = "TOOLHOST_CALL"

// pipeDelay is how long a process outside the group may hold the output open
// after the command itself has ended.
const pipeDelay = 500 * time.Millisecond

// Command says what to run and how.
type Command struct {
	// Argv is the program and its arguments. Argv[0] is an absolute path, as
	// LookPath gives it, or found through PATH.
	Argv []string
	// Name is what the program calls itself (its argv[0]); empty is Argv[0].
	Name string
	// Dir is the working directory. Empty is the current one.
	Dir string
	// Env is the whole environment, as Environ makes it.
	Env []string
	// Stdin is what the process reads. Nil is an empty input.
	Stdin []byte
	// Timeout bounds the run; zero is no bound. Grace is how long the
	// processes may take to end after SIGTERM; zero is DefaultGrace.
	Timeout, Grace time.Duration
	// Cap is how many bytes of each stream are kept for the result, the first
	// half and the last half of what is longer. Zero is DefaultCap.
	Cap int
	// SpillDir is where the whole of a longer stream is written, as files
	// named SpillName-stdout.txt and SpillName-stderr.txt. Empty keeps none.
	SpillDir, SpillName string
	// OnLine is called with every line of output as it comes, without its
	// newline, from two goroutines. "stdout" or "stderr" is the stream.
	OnLine func(stream, line string)
	// Prepare may change the process before it starts, to confine it. Its
	// error ends the run and is returned as it is.
	Prepare func(*exec.Cmd) error
	// ExtraFiles are handed to the process as descriptors 3 and up.
	ExtraFiles []*os.File
}

// Result is how a process ended.
type Result struct {
	// ExitCode is the process's, or 128 plus the number of the signal that
	// ended it.
	ExitCode int
	// Signal names that signal, "killed"; empty when it exited by itself.
	Signal string
	// TimedOut and Cancelled tell that the run was ended from here.
	TimedOut, Cancelled bool
	Duration            time.Duration
	Stdout, Stderr      Output
}

// Run runs a command to its end. A command that fails is a Result with an exit
// code; the error, a *tool.Error, means that it could not be run at all. When
// ctx ends, everything the command started is ended and the Result holds what
// was printed until then.
func Run(ctx context.Context, c Command) (*Result, error) {
	if err := ctx.Err(); err != nil {
		return &Result{ExitCode: -1, Cancelled: true}, nil
	}
	// A parent-death signal is tied to the thread that started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	r := newRun(c)
	defer r.close()
	if err := r.start(); err != nil {
		return nil, err
	}
	return r.wait(ctx), nil
}

// run is a Command on its way.
type run struct {
	Command
	cmd            *exec.Cmd
	mark           string
	started        time.Time
	stdout, stderr *capture
}

func newRun(c Command) *run {
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	if c.Cap <= 0 {
		c.Cap = DefaultCap
	}
	r := &run{Command: c, mark: markName + "=" + rand.Text()}
	r.stdout, r.stderr = r.capture("stdout"), r.capture("stderr")
	return r
}

func (r *run) capture(stream string) *capture {
	c := &capture{limit: r.Cap}
	if r.SpillDir != "" {
		name := stream + ".txt"
		if r.SpillName != "" {
			name = r.SpillName + "-" + name
		}
		c.spillPath = filepath.Join(r.SpillDir, name)
	}
	if r.OnLine != nil {
		c.onLine = func(line string) { r.OnLine(stream, line) }
	}
	return c
}

func (r *run) start() error {
	r.cmd = &exec.Cmd{
		Path: r.Argv[0], Args: append([]string{}, r.Argv...), Dir: r.Dir,
		Env: append(append([]string{}, r.Env...), r.mark), WaitDelay: pipeDelay,
		Stdout: r.stdout, Stderr: r.stderr, ExtraFiles: r.ExtraFiles,
	}
	if r.Name != "" {
		r.cmd.Args[0] = r.Name
	}
	if !filepath.IsAbs(r.cmd.Path) {
		path, err := LookPath(r.Argv[0], "")
		if err != nil {
			return err
		}
		r.cmd.Path = path
	}
	if r.Stdin != nil {
		r.cmd.Stdin = bytes.NewReader(r.Stdin)
	}
	ownGroup(r.cmd)
	if r.Prepare != nil {
		if err := r.Prepare(r.cmd); err != nil {
			return err
		}
	}
	r.started = time.Now()
	if err := r.cmd.Start(); err != nil {
		return startError(r.Argv[0], err)
	}
	return nil
}

// startError says why a program could not be started.
func startError(name string, err error) *tool.Error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return tool.Errorf(tool.CommandNotFound, "the program %s does not exist: %w", name, err).
			Suggest("Install it, or correct the command in agent.hcl.")
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.PermissionDenied, "the program %s may not be run: %w", name, err).
			Suggest("Make it executable, or name another program.")
	}
	return tool.Errorf(tool.Unavailable, "the program %s does not start: %w", name, err).
		Suggest("Run it by hand to see what is wrong.")
}

// wait waits for the end, or brings it about.
func (r *run) wait(ctx context.Context) *Result {
	ended := make(chan error, 1)
	go func() { ended <- r.cmd.Wait() }()
	var timeout <-chan time.Time
	if r.Timeout > 0 {
		timer := time.NewTimer(r.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	result := new(Result)
	select {
	case <-ended:
		r.sweep(false)
	case <-timeout:
		result.TimedOut = true
		r.stop(ended)
	case <-ctx.Done():
		result.TimedOut = errors.Is(ctx.Err(), context.DeadlineExceeded)
		result.Cancelled = !result.TimedOut
		r.stop(ended)
	}
	result.Duration = time.Since(r.started)
	result.ExitCode, result.Signal = exitStatus(r.cmd.ProcessState)
	result.Stdout, result.Stderr = r.stdout.output(), r.stderr.output()
	return result
}

// stop ends the group in good order: SIGTERM, a grace period, SIGKILL.
func (r *run) stop(ended <-chan error) {
	terminateGroup(r.cmd.Process)
	grace := time.NewTimer(r.Grace)
	defer grace.Stop()
	select {
	case <-ended:
		r.sweep(true)
		return
	case <-grace.C:
	}
	killGroup(r.cmd.Process)
	r.sweep(true)
	<-ended
}

// sweep ends what the command has left behind. After a normal end only
// processes younger than the command are looked at, which costs little.
func (r *run) sweep(thorough bool) {
	killGroup(r.cmd.Process)
	from := r.cmd.Process.Pid
	if thorough {
		from = 0
	}
	killMarked(r.mark, from)
}

func (r *run) close() {
	r.stdout.close()
	r.stderr.close()
}
