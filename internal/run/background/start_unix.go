//go:build unix

package background

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/filelock"
	"github.com/toolhost/toolhost/internal/keep/effects"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/reexec"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// startPatience bounds how long a supervisor may take to say that it has
// started the command.
const startPatience = 30 * time.Second

// order is what a supervisor is told, on its standard input.
type order struct {
	Store     string          `json:"store"`
	ID        string          `json:"id"`
	Session   string          `json:"session"`
	Owned     bool            `json:"owned,omitempty"` // by a process that the task ends with
	Argv      []string        `json:"argv"`
	Dir       string          `json:"dir"`
	Env       []string        `json:"env"`
	Stdin     []byte          `json:"stdin,omitempty"`
	Timeout   time.Duration   `json:"timeout,omitempty"`
	Grace     time.Duration   `json:"grace,omitempty"`
	DiskLimit int64           `json:"disk_limit"`
	Confine   *sandbox.Policy `json:"confine,omitempty"`
	Watch     *effects.Order  `json:"watch,omitempty"`
}

// Start starts a task. The error is a *tool.Error: of code unavailable when
// too many run already, otherwise those of [proc.Run] for a command that
// cannot be started.
func (s *Store) Start(ctx context.Context, spec Spec) (*Task, error) {
	dir, err := s.open(true)
	if err != nil {
		return nil, unmade(err)
	}
	defer dir.Close()
	unlock, err := lockStore(ctx, dir)
	if err != nil {
		return nil, unmade(err)
	}
	defer unlock()
	s.prune(dir)
	if err := s.room(spec.Session); err != nil {
		return nil, err
	}
	t := &Task{
		ID: newID(spec.Prefix), Session: spec.Session, Kind: spec.Kind, Title: spec.Title, Dir: spec.Dir,
		Started: time.Now().UTC(), State: Running,
	}
	if err := s.launch(ctx, dir, t, spec); err != nil {
		_ = dir.RemoveAll(t.ID)
		return nil, err
	}
	return s.Get(t.ID)
}

func unmade(err error) *tool.Error {
	if errors.Is(err, errNoPlace) {
		return errNoPlace
	}
	return tool.Errorf(tool.Unavailable, "the background task cannot be made: %w", err).
		Suggest("See that the directory that is named, in the user's state, can be written.")
}

// room refuses a task too many.
func (s *Store) room(session string) error {
	tasks, err := s.List()
	if err != nil {
		return err
	}
	running := 0
	for _, t := range tasks {
		if !t.Done() && t.Session == session {
			running++
		}
	}
	if running < s.options.MaxRunning {
		return nil
	}
	return tool.Errorf(tool.Unavailable, "%d background tasks of this session run already, and no more may", running).
		Suggest("Wait for one to end, or kill one.").With("running", running)
}

// launch makes the task's directory and starts its supervisor, which inherits
// the lock that shows that it lives.
func (s *Store) launch(ctx context.Context, dir *os.Root, t *Task, spec Spec) error {
	if err := dir.Mkdir(t.ID, 0o700); err != nil {
		return unmade(err)
	}
	own, err := dir.OpenRoot(t.ID)
	if err != nil {
		return unmade(err)
	}
	defer own.Close()
	lock, err := own.OpenFile(lockFile, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return unmade(err)
	}
	defer lock.Close()
	if err := cmp.Or(filelock.Try(lock, true), makePipe(own, controlFile), writeJSON(own, recordFile, t)); err != nil {
		return unmade(err)
	}
	return supervisor(ctx, lock, order{
		Store: s.dir, ID: t.ID, Session: t.Session, Owned: owned(dir, t.Session), Argv: spec.Argv, Dir: spec.Dir,
		Env: spec.Env, Stdin: spec.Stdin,
		Timeout: spec.Timeout, Grace: spec.Grace, DiskLimit: s.options.DiskLimit, Confine: spec.Confine,
		Watch: effects.From(ctx).Order(),
	})
}

// supervisor starts the supervisor and waits for it to say how that went.
func supervisor(ctx context.Context, lock *os.File, o order) error {
	if err := reexec.Check(); err != nil {
		return err
	}
	program, err := self()
	if err != nil {
		return unmade(err)
	}
	answer, theirs, err := os.Pipe()
	if err != nil {
		return unmade(err)
	}
	defer answer.Close()
	defer theirs.Close()
	// The environment is not this program's own: by marks in that, what a call
	// or a plugin has started is found and ended.
	cmd := &exec.Cmd{
		Path: program, Args: []string{supervisorName}, Env: proc.Environ(nil), Dir: "/",
		Stdin: bytes.NewReader(tool.MustMarshal(o)), ExtraFiles: []*os.File{lock, theirs},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return unmade(err)
	}
	go func() { _ = cmd.Wait() }()
	_ = theirs.Close()
	deadline := time.Now().Add(startPatience)
	if end, ok := ctx.Deadline(); ok && end.Before(deadline) {
		deadline = end
	}
	_ = answer.SetReadDeadline(deadline)
	return started(answer)
}

// started reads a supervisor's answer: nothing, or why the command could not
// be started.
func started(answer io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(answer, maxRecord))
	if err != nil {
		return unmade(err)
	}
	var reply reply
	if err := json.Unmarshal(data, &reply); err != nil {
		return tool.Errorf(tool.Internal, "the supervisor of the background task failed").
			Suggest("Try again; the command may run in the foreground meanwhile.")
	}
	if reply.Error != nil {
		return reply.Error
	}
	return nil
}

// reply is a supervisor's answer.
type reply struct {
	Error *tool.Error `json:"error,omitempty"`
}

// self is this program's own binary, the very file that runs where that can be
// told.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}
