// Package background runs commands that go on after the call that started them.
//
// A task is a child of the program that started it, confined as the task says, and ends with that program at the
// latest: toolhost ends it, and the kernel does where toolhost is killed (on Linux; at sandbox levels off and landlock
// that reaches the command alone, and what it left is ended when the tasks are looked at next). What a task started is
// ended with it.
//
// A task has a directory where no tool can write: what was started, how it ended, and a bounded part of what it
// printed. So other programs can list, read and end it. One that asks for the end leaves a file; the program that runs
// the task looks for it.
package background

import (
	"os"
	"os/exec"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/store/effects"
)

// Defaults of Options.
const (
	DefaultMaxRunning = 16
	DefaultOutputCap  = 1 << 20
	DefaultKeep       = 100
)

// DirName is the name of the directory of tasks among what the host keeps of a
// workspace.
const DirName = "tasks"

// Options shape a Store. Zero values mean the defaults.
type Options struct {
	// MaxRunning bounds the tasks of a session that run at one time.
	MaxRunning int
	// OutputCap is how many bytes of each stream are kept: the first half and the last half of what is longer.
	OutputCap int
	// Keep is how many ended tasks are kept; the oldest go first.
	Keep int
}

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
	if o.OutputCap <= 0 {
		o.OutputCap = DefaultOutputCap
	}
	if o.Keep <= 0 {
		o.Keep = DefaultKeep
	}
	return &Store{dir: dir, options: o}
}

// Spec says what to run.
type Spec struct {
	// Session is the session that the task belongs to.
	Session string
	// Call is the ID of the call that starts it.
	Call string
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
	// Terminal, Input and OnStart are those of [proc.Command], and OnOutput too:
	// the output is kept besides. OnEnd is called when the task has ended.
	Terminal *proc.Terminal
	Input    *os.File
	OnStart  func(pid int)
	OnOutput func(stream string, p []byte)
	OnEnd    func()
	// Turns, when not nil, keep what the command changes, and not the call that
	// starts it.
	Turns *effects.Turns
}

// Command is the same run for [proc.Run]: in the foreground, and with the
// caller.
func (s *Spec) Command() proc.Command {
	c := proc.Command{
		Argv: s.Argv, Dir: s.Dir, Env: s.Env, Stdin: s.Stdin, Timeout: s.Timeout, Grace: s.Grace,
		Terminal: s.Terminal, Input: s.Input,
	}
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

// The states. Lost means that the program that ran the task was killed, or the machine went down.
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
	Call    string    `json:"request_id,omitempty"` // that has started it
	Kind    string    `json:"kind,omitempty"`
	Title   string    `json:"title,omitempty"`
	Dir     string    `json:"dir,omitempty"`
	Started time.Time `json:"started"`
	State   State     `json:"state"`
	// Host is the process that runs the task, Parent the parent of that one.
	Host   int `json:"host,omitempty"`
	Parent int `json:"parent,omitempty"`
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
	// Connections are those of an ended task, ConnectionsMissed how many more there
	// were.
	Connections       []network.Connection `json:"connections,omitempty"`
	ConnectionsMissed int                  `json:"connections_missed,omitempty"`
}

// Done reports whether the task has ended.
func (t *Task) Done() bool { return t.State != Running }

// Ours reports whether the task was started by this process, or by a child of it, such as a plugin.
func (t *Task) Ours() bool { return t.Host == os.Getpid() || t.Parent == os.Getpid() }

// Output is what a task has printed so far.
type Output struct{ Stdout, Stderr proc.Output }

func notFound(id string) *tool.Error {
	return tool.Errorf(tool.NotFound, "there is no background task %q", id).
		Suggest("toolhost ps lists the tasks of this workspace.").With("task_id", id)
}
