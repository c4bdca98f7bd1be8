package background

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/filelock"
	"github.com/toolhost/toolhost/internal/run/fault"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/store/effects"
)

// mark is the environment variable that marks the processes of a task.
func mark(id string) string { return "TOOLHOST_TASK=" + id }

// Start starts a task. The error is a *tool.Error: of code unavailable if too many run already, otherwise those
// of [proc.Run] for a command that cannot be started.
func (s *Store) Start(ctx context.Context, spec Spec) (*Task, error) {
	dir, err := s.open(true)
	if err != nil {
		return nil, notMade(err)
	}
	defer dir.Close()
	unlock, err := lockStore(ctx, dir)
	if err != nil {
		return nil, notMade(err)
	}
	defer unlock()
	s.prune(dir)
	running, err := s.Running(func(t *Task) bool { return t.Session == spec.Session })
	if err != nil {
		return nil, err
	}
	if len(running) >= s.options.MaxRunning {
		return nil, tool.Errorf(tool.Unavailable, "%d background tasks of this session run already, and no more may",
			len(running)).Suggest("Wait for one to end, or kill one.").With("running", len(running))
	}
	t := &Task{
		ID: newID(spec.Prefix), Session: spec.Session, Kind: spec.Kind, Title: spec.Title, Dir: spec.Dir, Call: spec.Call,
		Started: time.Now().UTC(), State: Running, Host: os.Getpid(), Parent: os.Getppid(),
	}
	if err := s.launch(ctx, dir, t, spec); err != nil {
		_ = dir.RemoveAll(t.ID)
		return nil, err
	}
	return s.Get(t.ID)
}

// lockStore lets one process at a time start a task, to enforce the bound on running ones.
func lockStore(ctx context.Context, dir *os.Root) (unlock func(), err error) {
	f, err := dir.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.Await(ctx, f, true); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

func notMade(err error) *tool.Error {
	if errors.Is(err, errNoPlace) {
		return errNoPlace
	}
	return tool.Errorf(tool.Unavailable, "the background task cannot be made: %w", err).
		Suggest("See that the directory that is named, in the user's state, can be written.")
}

func (s *Store) launch(ctx context.Context, dir *os.Root, t *Task, spec Spec) error {
	if err := dir.Mkdir(t.ID, 0o700); err != nil {
		return notMade(err)
	}
	own, err := dir.OpenRoot(t.ID)
	if err != nil {
		return notMade(err)
	}
	r := &run{Spec: spec, id: t.ID, dir: own, started: make(chan error, 1)}
	if err := r.prepare(t, s.options.OutputCap); err != nil {
		r.close()
		return notMade(err)
	}
	r.network = new(network.Log)
	long := network.With(context.Background(), r.network)
	if spec.Turns != nil {
		go r.run(watch.With(long, spec.Turns), func() {})
	} else {
		r.network.Tell = r.explain
		watching := effects.From(ctx).Detach()
		go r.run(effects.With(long, watching), func() {
			if watching != nil {
				watching.End()
			}
		})
	}
	return <-r.started
}

type run struct {
	Spec
	id             string
	dir            *os.Root
	lock           *os.File
	stdout, stderr *stream
	network        *network.Log
	printing       sync.Mutex // to stderr
	explained      int
	started        chan error // gets the outcome of the start, once
}

func (r *run) prepare(t *Task, outputCap int) (err error) {
	const flags = os.O_RDWR | os.O_CREATE | os.O_EXCL
	if r.lock, err = r.dir.OpenFile(lockFile, flags, 0o600); err != nil {
		return err
	}
	if r.stdout, err = newStream(r.dir, "stdout", outputCap); err != nil {
		return err
	}
	if r.stderr, err = newStream(r.dir, "stderr", outputCap); err != nil {
		return err
	}
	return cmp.Or(filelock.Try(r.lock, true), writeJSON(r.dir, recordFile, t))
}

// close closes the task's files. From then on the task does not run.
func (r *run) close() {
	_, _ = r.stdout.close(), r.stderr.close()
	if r.lock != nil {
		_ = r.lock.Close()
	}
	_ = r.dir.Close()
}

// run runs the command to its end and stores the outcome. watched is called at the end, for the watcher in ctx.
func (r *run) run(ctx context.Context, watched func()) {
	defer func() {
		r.close()
		if r.OnEnd != nil {
			r.OnEnd()
		}
	}()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	command := r.Command()
	command.Env = append(append([]string{}, r.Env...), mark(r.id))
	command.Cap = 1 // the output is kept by r
	command.OnOutput = func(name string, p []byte) {
		if name == "stdout" {
			r.stdout.write(p)
		} else {
			r.printing.Lock()
			r.stderr.write(p)
			r.printing.Unlock()
		}
		if r.OnOutput != nil {
			r.OnOutput(name, p)
		}
	}
	begun := false
	command.OnStart = func(pid int) {
		begun = true
		if r.OnStart != nil {
			r.OnStart(pid)
		}
		r.started <- nil
		go r.awaitStop(ctx, cancel)
	}
	result, err := contained(ctx, command)
	watched()
	if !begun {
		r.started <- tool.AsError(err)
		return
	}
	end := status{State: Completed, Ended: time.Now().UTC()}
	if err != nil {
		end.State, end.Reason = Failed, err.Error()
	} else {
		end.ExitCode, end.Signal = &result.ExitCode, result.Signal
		switch {
		case result.TimedOut:
			end.State, end.Reason = TimedOut, "it did not end within "+r.Timeout.String()
		case result.Cancelled:
			end.State, end.Reason = Killed, context.Cause(ctx).Error()
		}
	}
	r.network.Settle()
	end.Connections, end.ConnectionsMissed = r.network.Connections()
	r.printing.Lock()
	lost := errors.Join(r.stdout.close(), r.stderr.close())
	r.printing.Unlock()
	if lost != nil && end.Reason == "" {
		end.Reason = "output was lost: " + lost.Error()
	}
	_ = writeJSON(r.dir, statusFile, end)
}

// mostExplained is how many refusals the output of a task explains.
const mostExplained = 10

// explain adds to the task's output that the network refused something.
func (r *run) explain(c network.Connection) {
	said := r.network.ExplainThose(c)
	r.printing.Lock()
	defer r.printing.Unlock()
	if said == "" || r.stderr.file == nil {
		return
	}
	switch r.explained++; {
	case r.explained < mostExplained:
	case r.explained == mostExplained:
		said += " toolhost show lists more."
	default:
		return
	}
	r.stderr.write([]byte("toolhost: " + said + "\n"))
}

// contained is proc.Run, with a panic as an error.
func contained(ctx context.Context, command proc.Command) (result *proc.Result, err error) {
	defer fault.Contain("ran a task", func(fault error) { err = fault })
	return proc.Run(ctx, command)
}

// stopEvery is the pause between checks whether the task is to end.
const stopEvery = 50 * time.Millisecond

// awaitStop ends the task when requested.
func (r *run) awaitStop(ctx context.Context, end context.CancelCauseFunc) {
	ticks := time.NewTicker(stopEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		var reason string
		if readJSON(r.dir, stopFile, &reason) == nil {
			end(errors.New(reason))
			return
		}
	}
}
