// Package proc runs one child process to its end: without a shell, without
// stdin, in a process group of its own, under a time limit, with both output
// streams captured apart and bounded, and with nothing left running behind.
//
// On Linux, processes that leave the group (setsid, double fork) are found by
// a mark in their environment and by kinship, and ended too. Out of reach for
// this package is a process that clears its environment, leaves the session
// and loses its parent before the command ends; and when the host itself is
// killed by SIGKILL, the kernel ends the command but not what the command had
// started. A PID namespace (package internal/run/sandbox) holds those as well.
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
	// Input, when not nil, is the file that the process reads instead, and
	// Terminal what it reads, prints to and is controlled by; its output is
	// called "stdout" then. Both belong to the run.
	Input    *os.File
	Terminal *Terminal
	// Stdout, when not nil, is the file that the process writes its standard
	// output to. What it writes is not captured then, nor bounded.
	Stdout *os.File
	// Timeout bounds the run; zero is no bound. Grace is how long the
	// processes may take to end after SIGTERM; zero is DefaultGrace.
	Timeout, Grace time.Duration
	// Cap is how many bytes of each stream are kept for the result, the first
	// half and the last half of what is longer. Zero is DefaultCap.
	Cap int
	// SpillDir is where the whole of a longer stream is written, as files
	// named SpillName_stdout.txt and SpillName_stderr.txt. Empty keeps none.
	// Files there of the same name are replaced.
	SpillDir, SpillName string
	// SpillRoot, when not empty, is a directory that SpillDir lies in, and
	// that no symlink on the way leads out of: what a command can write to
	// must not choose where its output goes.
	SpillRoot string
	// SpillLimit bounds a file in SpillDir, in bytes. Zero is
	// DefaultSpillLimit.
	SpillLimit int64
	// Secrets are values that are taken out of the output, wherever it goes.
	// Those shorter than four bytes are not looked for.
	Secrets []string
	// OnLine is called with every line of output as it comes, without its
	// newline, from two goroutines. "stdout" or "stderr" is the stream.
	OnLine func(stream, line string)
	// OnOutput is called with all output as it comes, before anything is left
	// out, from two goroutines. It must not keep p.
	OnOutput func(stream string, p []byte)
	// OnStart is called once the process has been started, with its number.
	OnStart func(pid int)
	// Prepare may change the process before it starts, to confine it. Its
	// error ends the run and is returned as it is. It may put another program
	// in front, by changing Path; see StatusEnv.
	Prepare func(*exec.Cmd) error
	// ExtraFiles are handed to the process as descriptors 3 and up.
	ExtraFiles []*os.File
	// Limit bounds the commands that run at the same time; Run waits for its
	// turn, and the wait does not count for Timeout.
	Limit *Limit
}

// Spill has long output kept whole among the artifacts of a call, as the logs of
// its step; "" for artifacts keeps none. Where they lie in root, which commands
// can write to, no link that one has planted leads the files out of it.
func (c *Command) Spill(root, artifacts string, step int) {
	if artifacts == "" {
		return
	}
	c.SpillDir, c.SpillName = filepath.Join(artifacts, "logs"), fmt.Sprintf("tool_step_%04d", step)
	if rel, err := filepath.Rel(root, c.SpillDir); err == nil && filepath.IsLocal(rel) {
		c.SpillRoot = root
	}
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
	// Network is what its processes did by the network, nil where nobody follows it.
	Network *network.Log
}

// Refused says what the network refused its processes, "" where that is nothing or
// nobody follows it.
func (r *Result) Refused() string {
	if r.Network == nil {
		return ""
	}
	r.Network.Settle()
	return r.Network.Explain()
}

// Run runs a command to its end. A command that fails is a Result with an exit
// code; the error, a *tool.Error, means that it could not be run at all. When
// ctx ends, everything the command started is ended and the Result holds what
// was printed until then.
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

// Limit bounds how many commands run at the same time. A nil Limit is none.
type Limit struct{ slots chan struct{} }

// NewLimit makes a Limit of n commands, at least one.
func NewLimit(n int) *Limit { return &Limit{slots: make(chan struct{}, max(1, n))} }

// acquire waits for a free slot and gives the function that frees it again.
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
