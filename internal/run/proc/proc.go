// Package proc runs one child process to its end: without a shell or stdin, in its own process group, with a
// time limit, with both output streams captured separately and bounded, and with nothing left running.
//
// On Linux, processes that leave the group (setsid, double fork) are found by a mark in their environment and
// by descent, and ended too. A process is not found if it clears its environment, leaves the session and loses
// its parent before the command ends; and if the host is killed by SIGKILL, the kernel ends the command but not
// its descendants. A PID namespace (package internal/run/sandbox) covers those as well.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/view"
	"github.com/toolhost/toolhost/internal/run/watch"
)

// Defaults of Command.
const (
	DefaultGrace      = 2 * time.Second
	DefaultCap        = 64 << 10
	DefaultSpillLimit = 1 << 30
)

// Command is what to run and how.
type Command struct {
	// Argv is the program and its arguments. Argv[0] is an absolute path, as from LookPath, or found through
	// PATH.
	Argv []string
	// Name is the program's argv[0]; by default Argv[0].
	Name string
	// Dir is the working directory; empty means the current one.
	Dir string
	// Env is the whole environment, see Environ.
	Env []string
	// Stdin is the standard input; nil means empty.
	Stdin []byte
	// Input, unless nil, is the standard input instead; Terminal is all standard streams and the controlling
	// terminal, with its output called "stdout". Both belong to the run.
	Input    *os.File
	Terminal *Terminal
	// Stdout, unless nil, is the file for standard output, which is then neither captured nor bounded.
	Stdout *os.File
	// Timeout bounds the run; zero means no bound. Grace is how long the processes have to end after SIGTERM;
	// zero means DefaultGrace.
	Timeout, Grace time.Duration
	// Cap bounds each stream in the result, in bytes: the first and last half of a longer one. Zero means
	// DefaultCap.
	Cap int
	// SpillDir is the directory for complete longer streams, as files named SpillName_stdout.txt and
	// SpillName_stderr.txt, replacing existing ones. Empty keeps none.
	SpillDir, SpillName string
	// SpillRoot, unless empty, is a directory around SpillDir that no symlink may leave: what a command can
	// write to must not redirect its output.
	SpillRoot string
	// SpillLimit bounds a file in SpillDir, in bytes. Zero means DefaultSpillLimit.
	SpillLimit int64
	// Secrets are redacted from all output. Those shorter than four bytes are ignored.
	Secrets []string
	// OnLine is called with every line of output, without its newline, from two goroutines. stream is "stdout"
	// or "stderr".
	OnLine func(stream, line string)
	// OnOutput is called with all output before anything is omitted, from two goroutines. It must not retain p.
	OnOutput func(stream string, p []byte)
	// OnStart is called once the process has started, with its number.
	OnStart func(pid int)
	// Prepare may change the process before it starts, to confine it. Its error ends the run and is returned
	// unchanged. It may put another program in front by changing Path; see StatusEnv.
	Prepare func(*exec.Cmd) error
	// ExtraFiles are the process's descriptors 3 and up.
	ExtraFiles []*os.File
	// Limit bounds concurrent commands; Run's wait for it does not count for Timeout.
	Limit *Limit
}

// Spill keeps long output whole among the artifacts of a call, as the logs of its step, unless artifacts is "".
// root is writable for commands, but their symlinks cannot lead the files out.
func (c *Command) Spill(root, artifacts string, step int) {
	if artifacts == "" {
		return
	}
	c.SpillDir, c.SpillName = filepath.Join(artifacts, "logs"), fmt.Sprintf("tool_step_%04d", step)
	if rel, err := filepath.Rel(root, c.SpillDir); err == nil && filepath.IsLocal(rel) {
		c.SpillRoot = root
	}
}

// Result is the outcome of a process.
type Result struct {
	// ExitCode is the process's, or 128 plus the number of the signal that ended it.
	ExitCode int
	// Signal names that signal, such as "killed"; empty if it exited.
	Signal string
	// TimedOut and Cancelled are set if the run was ended by its timeout or context.
	TimedOut, Cancelled bool
	Duration            time.Duration
	Stdout, Stderr      Output
	// Network has the connections of its processes, nil if not recorded.
	Network *network.Log
}

// Refused returns what the network refused its processes; may be "".
func (r *Result) Refused() string {
	if r.Network == nil {
		return ""
	}
	r.Network.Settle()
	return r.Network.Explain()
}

// Run runs a command to its end. A failing command is a Result with an exit code; the error, a *tool.Error,
// means that it could not run. When ctx ends, the command and its descendants are ended and the Result has the
// output until then.
func Run(ctx context.Context, c Command) (*Result, error) {
	if err := ctx.Err(); err != nil {
		late := errors.Is(err, context.DeadlineExceeded)
		return &Result{ExitCode: -1, TimedOut: late, Cancelled: !late}, nil
	}
	release, err := c.Limit.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	// A parent-death signal is tied to the thread that started the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	r := newRun(c)
	r.watch, r.view, r.network = watch.From(ctx), view.From(ctx), network.From(ctx)
	defer r.close()
	if err := r.start(); err != nil {
		return nil, err
	}
	return r.wait(ctx)
}

// Limit bounds concurrent commands. A nil Limit has no bound.
type Limit struct{ slots chan struct{} }

// NewLimit returns a Limit of n commands, at least one.
func NewLimit(n int) *Limit { return &Limit{slots: make(chan struct{}, max(1, n))} }

// acquire waits for a free slot; release frees it.
func (l *Limit) acquire(ctx context.Context) (release func(), err error) {
	if l == nil {
		return func() {}, nil
	}
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots }, nil
	case <-ctx.Done():
		return nil, tool.Errorf(tool.Unavailable, "%d commands run already, and none ended in time", cap(l.slots)).
			Suggest("Wait for a running command to end, or stop one.")
	}
}
