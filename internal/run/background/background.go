// Package background runs commands that continue after the call that started them.
//
// A task is a child of the program that started it, confined by its Spec, and ends, with all that it started, with
// that program at the latest. If toolhost is killed, the kernel ends the task (on Linux; at sandbox levels off and
// landlock only the command, the rest when the tasks are next looked at).
//
// A task has a directory where no tool can write: what was started, how it ended, and a bounded part of its
// output. So other programs can list, read and end it: to end it they leave a file, which the program that runs
// the task looks for.
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

// DirName is the name of the tasks' directory in a workspace's state.
const DirName = "tasks"

// Options configure a Store. Zero values mean the defaults.
type Options struct {
	// MaxRunning bounds the concurrent tasks of a session.
	MaxRunning int
	// OutputCap bounds what is kept of each stream, in bytes: the first and the last half of a longer one.
	OutputCap int
	// Keep is how many ended tasks are kept; the oldest go first.
	Keep int
}

// Store is the tasks of a workspace. It is safe for concurrent use, also by several processes.
type Store struct {
	dir     string
	options Options
}

// Open returns the tasks kept in dir, an absolute path where no tool can write. It accesses nothing. If dir is
// empty, no task starts.
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

// Spec is a task to start.
type Spec struct {
	// Session is the session that the task belongs to.
	Session string
	// Call is the ID of the call that starts it.
	Call string
	// Kind tells tasks apart in listings, such as "bash".
	Kind string
	// Prefix begins the task's id; may be empty.
	Prefix string
	// Title is what listings show, such as the command line.
	Title string
	// Argv, Dir, Env, Stdin, Timeout and Grace are those of [proc.Command].
	Argv           []string
	Dir            string
	Env            []string
	Stdin          []byte
	Timeout, Grace time.Duration
	// Confine is how the command is confined; nil means not.
	Confine *sandbox.Policy
	// Terminal, Input, OnStart and OnOutput are those of [proc.Command]. OnEnd is called when the task has
	// ended.
	Terminal *proc.Terminal
	Input    *os.File
	OnStart  func(pid int)
	OnOutput func(stream string, p []byte)
	OnEnd    func()
	// Turns, unless nil, keep what the command changes, in place of the call that starts it.
	Turns *effects.Turns
}

// Command returns the same run for [proc.Run]: in the foreground, ending with the caller.
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

// State is the state of a task.
type State string

// Lost means that the program that ran the task was killed, or the machine went down.
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
	Call    string    `json:"request_id,omitempty"` // that started it
	Kind    string    `json:"kind,omitempty"`
	Title   string    `json:"title,omitempty"`
	Dir     string    `json:"dir,omitempty"`
	Started time.Time `json:"started"`
	State   State     `json:"state"`
	// Host is the process that runs the task, Parent that process's parent.
	Host   int `json:"host,omitempty"`
	Parent int `json:"parent,omitempty"`
	// Ended is when the task ended, nil while it runs or if unknown.
	Ended *time.Time `json:"ended,omitempty"`
	// ExitCode is the command's, or 128 plus the number of the signal that ended it. Nil while it runs, and if
	// it could not be started or was lost.
	ExitCode *int `json:"exit_code,omitempty"`
	// Signal names the signal that ended the command; may be empty.
	Signal string `json:"signal,omitempty"`
	// Reason is why a task was ended from outside, or failed to start.
	Reason string `json:"reason,omitempty"`
	// Connections are those of an ended task; ConnectionsMissed is how many more there were.
	Connections       []network.Connection `json:"connections,omitempty"`
	ConnectionsMissed int                  `json:"connections_missed,omitempty"`
}

// Done reports whether the task has ended.
func (t *Task) Done() bool { return t.State != Running }

// Ours reports whether this process or a child of it, such as a plugin, started the task.
func (t *Task) Ours() bool { return t.Host == os.Getpid() || t.Parent == os.Getpid() }

// Output is what a task has printed so far.
type Output struct{ Stdout, Stderr proc.Output }

func notFound(id string) *tool.Error {
	return tool.Errorf(tool.NotFound, "there is no background task %q", id).
		Suggest("toolhost ps lists the tasks of this workspace.").With("task_id", id)
}
