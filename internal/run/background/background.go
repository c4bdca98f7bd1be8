// Package background runs processes that outlive the call, and the program,
// that started them.
//
// Each task has a supervisor, a process of its own in a session of its own,
// which starts the command, confined as it was told, keeps what it prints in
// files, and writes down how it ended. So a task can be looked at, waited for
// and ended from any process that knows the workspace. What a task started is
// ended with it, also what left its process group or ignores SIGTERM.
//
// A task belongs to a session. It lives on when the process that started it
// ends, unless the session has an owner ([Store.Own]), such as an MCP server
// for the time of a connection: then it ends with the owner, even one that is
// killed.
//
// State lies where no tool can write, a directory for each task. What a result
// names is a copy in the workspace, which is never read again.
//
// The supervisor is the program's own binary, started anew. A program that
// imports this package needs to do nothing for it. On Windows tasks are
// unsupported.
package background

import (
	"os/exec"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// Defaults of Options.
const (
	DefaultMaxRunning = 16
	DefaultDiskLimit  = 64 << 20
	DefaultOutputCap  = 1 << 20
	DefaultKeep       = 100
	DefaultKeepBytes  = 512 << 20
)

// DirName is the name of the directory of tasks among what the host keeps of a
// workspace.
const DirName = "tasks"

// Options shape a Store. Zero values mean the defaults.
type Options struct {
	// MaxRunning bounds the tasks of a session that run at one time.
	MaxRunning int
	// DiskLimit bounds what is kept of each stream on disk, in bytes. The end
	// of a longer one is kept besides.
	DiskLimit int64
	// OutputCap is how many bytes of each stream Output gives: the first half
	// and the last half of what is longer.
	OutputCap int
	// Keep is how many ended tasks are kept, and KeepBytes how much they may
	// hold together; the oldest go first.
	Keep      int
	KeepBytes int64
	// Root is the workspace. Output that is too long to be given whole is copied
	// to CopyDir in it. Empty copies none.
	Root string
}

// CopyDir is where copies of long output lie in the workspace, a slash path.
const CopyDir = ".agent/cache/tasks"

// Store is the tasks of a workspace. It is safe for use by several goroutines
// and processes.
type Store struct {
	dir     string
	options Options
}

// Open gives the tasks that are kept in dir, an absolute path where no tool can
// write. Nothing is made or read. Where dir is empty there is no place for tasks,
// and none starts.
func Open(dir string, o Options) *Store {
	if o.MaxRunning <= 0 {
		o.MaxRunning = DefaultMaxRunning
	}
	if o.DiskLimit <= 0 {
		o.DiskLimit = DefaultDiskLimit
	}
	if o.OutputCap <= 0 {
		o.OutputCap = DefaultOutputCap
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	if o.KeepBytes <= 0 {
		o.KeepBytes = DefaultKeepBytes
	}
	return &Store{dir: dir, options: o}
}

// Spec says what to run.
type Spec struct {
	// Session is the session that the task belongs to.
	Session string
	// Kind tells tasks apart in listings, such as "bash".
	Kind string
	// Prefix begins the task's id. May be empty.
	Prefix string
	// Title is what listings show, such as the command line.
	Title string
	// Argv, Dir, Env, Stdin, Timeout and Grace are those of [proc.Command].
	Argv           []string
	Dir            string
	Env            []string
	Stdin          []byte
	Timeout, Grace time.Duration
	// Confine is how the command is confined. Nil does not confine it.
	Confine *sandbox.Policy
}

// Command is the same run for [proc.Run]: in the foreground, and with the
// caller.
func (s *Spec) Command() proc.Command {
	c := proc.Command{Argv: s.Argv, Dir: s.Dir, Env: s.Env, Stdin: s.Stdin, Timeout: s.Timeout, Grace: s.Grace}
	if s.Confine != nil {
		policy := *s.Confine
		c.Prepare = func(cmd *exec.Cmd) error {
			_, err := sandbox.Apply(cmd, policy)
			return err
		}
	}
	return c
}

// State is where a task is.
type State string

// The states. Lost means that the supervisor is gone without having told how
// the task ended: it was killed, or the machine went down.
const (
	Running   State = "running"
	Completed State = "completed"
	Killed    State = "killed"
	TimedOut  State = "timed_out"
	Failed    State = "failed"
	Lost      State = "lost"
)

// Task is a task as it is known now.
type Task struct {
	ID      string    `json:"id"`
	Session string    `json:"session"`
	Kind    string    `json:"kind,omitempty"`
	Title   string    `json:"title,omitempty"`
	Dir     string    `json:"dir,omitempty"`
	Started time.Time `json:"started"`
	State   State     `json:"state"`
	// Ended is when the task ended, nil while it runs and when that is not
	// known.
	Ended *time.Time `json:"ended,omitempty"`
	// ExitCode is the command's, 128 plus the number of the signal that ended
	// it. Nil while it runs, and when it could not be started or was lost.
	ExitCode *int `json:"exit_code,omitempty"`
	// Signal names the signal that ended the command, "" for none.
	Signal string `json:"signal,omitempty"`
	// Reason says why a task was ended from outside, or why it failed to
	// start.
	Reason string `json:"reason,omitempty"`
}

// Done reports whether the task has ended.
func (t *Task) Done() bool { return t.State != Running }

// Output is what a task has printed so far.
type Output struct{ Stdout, Stderr proc.Output }

func notFound(id string) *tool.Error {
	return tool.Errorf(tool.NotFound, "there is no background task %q", id).
		Suggest("toolhost ps lists the tasks of this workspace.").With("task_id", id)
}
