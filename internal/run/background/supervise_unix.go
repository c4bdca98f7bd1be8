//go:build unix

package background

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/filelock"
	"github.com/toolhost/toolhost/internal/keep/effects"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/reexec"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// supervisorName is argv[0] of a supervisor.
const supervisorName = "toolhost: background task"

// Descriptors of a supervisor besides its standard input.
const (
	lockDescriptor   = 3 // open and locked for as long as it lives
	answerDescriptor = 4
)

// taskMark is the environment variable by which the processes of a task are
// known.
const taskMark = "TOOLHOST_TASK"

// Main is the supervisor of a task in a process that was started for one; it
// returns in any other. The main function of a program that starts tasks calls
// it before all else.
func Main() {
	reexec.Answers()
	if len(os.Args) > 0 && os.Args[0] == supervisorName {
		os.Exit(supervise())
	}
}

// supervise is the supervisor.
func supervise() int {
	syscall.CloseOnExec(lockDescriptor)
	syscall.CloseOnExec(answerDescriptor)
	answer := os.NewFile(answerDescriptor, "answer")
	var o order
	data, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return 2
	}
	_ = os.Stdin.Close()
	s := &supervision{order: o, answer: answer}
	if err := s.prepare(); err != nil {
		s.tell(unmade(err))
		return 1
	}
	s.run()
	return 0
}

// supervision is a supervisor's work.
type supervision struct {
	order
	answer         *os.File
	once           sync.Once
	dir            *os.Root
	stdout, stderr *writer
	ctx            context.Context
	cancel         context.CancelCauseFunc
	started        bool
}

// stop is why a task is ended from outside.
type stop string

func (s stop) Error() string { return string(s) }

// The reasons.
const (
	stopKilled  stop = "killed"
	stopSession stop = "its session ended"
	stopSignal  stop = "its supervisor was told to end"
)

// prepare opens the task's files and begins to listen for orders.
func (s *supervision) prepare() error {
	store := Store{dir: s.Store}
	tasks, err := store.open(false)
	if err != nil {
		return err
	}
	defer tasks.Close()
	if s.dir, err = tasks.OpenRoot(s.ID); err != nil {
		return err
	}
	if s.stdout, err = newWriter(s.dir, "stdout", s.DiskLimit); err != nil {
		return err
	}
	if s.stderr, err = newWriter(s.dir, "stderr", s.DiskLimit); err != nil {
		return err
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	control, err := s.dir.OpenFile(controlFile, os.O_RDWR|openFlags, 0)
	if err != nil {
		return err
	}
	go s.listen(control)
	go s.heedSignals()
	if s.Owned {
		owner, err := tasks.Open(ownerFile(s.Session))
		if err != nil {
			return stopSession
		}
		go s.watchOwner(owner)
	}
	becomeReaper()
	return nil
}

// listen ends the task when anything comes through the pipe.
func (s *supervision) listen(control *os.File) {
	if _, err := control.Read(make([]byte, 1)); err == nil {
		s.cancel(stopKilled)
	}
}

// heedSignals ends the task before a signal ends the supervisor.
func (s *supervision) heedSignals() {
	signals := make(chan os.Signal, 1)
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE)
	signal.Notify(signals, syscall.SIGTERM)
	<-signals
	s.cancel(stopSignal)
}

// watchOwner ends the task with its session's owner.
func (s *supervision) watchOwner(owner *os.File) {
	defer owner.Close()
	if filelock.Wait(owner, false) == nil {
		s.cancel(stopSession)
	}
}

// run runs the command to its end and writes down how it ended.
func (s *supervision) run() {
	watching := s.Watch.Open()
	result, err := proc.Run(effects.With(s.ctx, watching), proc.Command{
		Argv: s.Argv, Dir: s.Dir, Env: append(s.Env, taskMark+"="+s.ID), Stdin: s.Stdin,
		Timeout: s.Timeout, Grace: s.Grace, Cap: 1,
		Prepare:  s.confine,
		OnStart:  func(pid int) { s.tell(nil); go reapOrphans(s.ctx, pid) },
		OnOutput: s.keep,
	})
	killDescendants()
	if watching != nil {
		watching.End()
	}
	if err != nil && !s.started {
		s.tell(tool.AsError(err))
	}
	end := s.end(result, err)
	if lost := errors.Join(s.stdout.close(), s.stderr.close()); lost != nil && end.Reason == "" {
		end.Reason = "output was lost: " + lost.Error()
	}
	_ = writeJSON(s.dir, statusFile, end)
}

// confine confines the command.
func (s *supervision) confine(cmd *exec.Cmd) error {
	if s.Confine == nil {
		return nil
	}
	_, err := sandbox.Apply(cmd, *s.Confine)
	return err
}

func (s *supervision) keep(stream string, p []byte) {
	if stream == "stdout" {
		s.stdout.write(p)
	} else {
		s.stderr.write(p)
	}
}

// tell answers whoever has started the supervisor.
func (s *supervision) tell(err *tool.Error) {
	s.once.Do(func() {
		s.started = err == nil
		_, _ = s.answer.Write(tool.MustMarshal(reply{Error: err}))
		_ = s.answer.Close()
	})
}

func (s *supervision) end(result *proc.Result, err error) status {
	end := status{State: Completed, Ended: time.Now().UTC()}
	if err != nil {
		end.State, end.Reason = Failed, err.Error()
		return end
	}
	end.ExitCode, end.Signal = &result.ExitCode, result.Signal
	switch {
	case result.TimedOut:
		end.State, end.Reason = TimedOut, "it did not end within "+s.Timeout.String()
	case result.Cancelled:
		end.State, end.Reason = Killed, context.Cause(s.ctx).Error()
	}
	return end
}
