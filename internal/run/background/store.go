package background

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/filelock"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/run/proc"
)

const (
	recordFile = "task.json"   // written before the start
	statusFile = "status.json" // written at the end
	lockFile   = "lock"        // locked while the task runs, by the program that runs it
	stopFile   = "stop"        // asks for the end of the task, and why
	maxRecord  = 1 << 20
)

type status struct {
	State    State     `json:"state"`
	Ended    time.Time `json:"ended"`
	ExitCode *int      `json:"exit_code,omitempty"`
	Signal   string    `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`

	Connections       []network.Connection `json:"connections,omitempty"`
	ConnectionsMissed int                  `json:"connections_missed,omitempty"`
}

// Dir returns the directory of the tasks, or "". In a copy of it, tasks that were running are lost.
func (s *Store) Dir() string { return s.dir }

// Running returns the running tasks that of selects.
func (s *Store) Running(of func(*Task) bool) ([]Task, error) {
	tasks, err := s.List()
	return slices.DeleteFunc(tasks, func(t Task) bool { return t.Done() || !of(&t) }), err
}

// EndAll ends the tasks that of selects, concurrently, and returns their number. The reason is kept.
func (s *Store) EndAll(ctx context.Context, of func(*Task) bool, reason string) (int, error) {
	running, err := s.Running(of)
	results := make(chan error)
	for _, t := range running {
		go func() {
			_, _, err := s.end(ctx, t.ID, reason)
			results <- err
		}()
	}
	for range running {
		err = errors.Join(err, <-results)
	}
	return len(running), err
}

// killed is the reason of a task that was ended by Kill.
const killed = "killed"

// Kill ends a task with all its processes and returns it. already is set if it had ended before. The error is a
// *tool.Error of code not_found for an unknown task, and unavailable if it does not end.
func (s *Store) Kill(ctx context.Context, id string) (t *Task, already bool, err error) {
	return s.end(ctx, id, killed)
}

// killPatience is how long a task may take to end beyond its grace period.
const killPatience = 10 * time.Second

func (s *Store) end(ctx context.Context, id, reason string) (t *Task, already bool, err error) {
	if t, err = s.Get(id); err != nil || t.Done() {
		return t, err == nil, err
	}
	if err := s.askForEnd(id, reason); err != nil {
		return nil, false, unreadable(err)
	}
	ctx, cancel := context.WithTimeout(ctx, proc.DefaultGrace+killPatience)
	defer cancel()
	if t, err = s.Wait(ctx, id); err != nil {
		return nil, false, err
	}
	if !t.Done() {
		return t, false, tool.Errorf(tool.Unavailable, "the background task %s has not ended yet", id).
			Suggest("Look at it again in a moment.").With("task_id", id)
	}
	return t, t.State == Completed, nil
}

// askForEnd asks the program that runs the task to end it. The first reason stays.
func (s *Store) askForEnd(id, reason string) error {
	dir, err := s.openTask(id)
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.Lstat(stopFile); err == nil {
		return nil
	}
	return writeJSON(dir, stopFile, reason)
}

// open opens the directory of tasks; with create, it makes a missing one.
func (s *Store) open(create bool) (*os.Root, error) {
	if s.dir == "" && create {
		return nil, errNoPlace
	}
	if s.dir == "" {
		return nil, fs.ErrNotExist
	}
	if create {
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return nil, err
		}
	}
	return os.OpenRoot(s.dir)
}

var errNoPlace = tool.Errorf(tool.Unavailable,
	"there is no place for background tasks: toolhost has no directory for its state").
	Suggest("Run the command in the foreground; toolhost doctor tells the user what is wrong with the directory.")

func (s *Store) openTask(id string) (*os.Root, error) {
	if !validID(id) {
		return nil, notFound(id)
	}
	dir, err := s.open(false)
	if err == nil {
		defer dir.Close()
		dir, err = dir.OpenRoot(id)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound(id)
	}
	return dir, unreadable(err)
}

func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return tool.Errorf(tool.Unavailable, "the background tasks cannot be read: %w", err).
		Suggest("Look at the directory that is named, in the user's state.")
}

// validID reports whether id can be a task's: it names a directory.
func validID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:10]) }

// Get returns a task. The error is a *tool.Error of code not_found for an unknown id.
func (s *Store) Get(id string) (*Task, error) {
	dir, err := s.openTask(id)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return load(dir, id)
}

// load reads a task's files. If the task's program is gone it reads the status again: it may just have been
// written.
func load(dir *os.Root, id string) (*Task, error) {
	t := &Task{ID: id}
	if err := readJSON(dir, recordFile, t); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, notFound(id)
		}
		return nil, unreadable(err)
	}
	t.ID = id
	if t.loadEnd(dir) {
		return t, nil
	}
	if runs(dir) {
		t.State = Running
		return t, nil
	}
	if !t.loadEnd(dir) {
		proc.KillMarked(mark(id))
		t.State, t.Reason = Lost, "the program that ran it was killed"
		_ = writeJSON(dir, statusFile, status{State: t.State, Reason: t.Reason})
	}
	return t, nil
}

// runs reports whether the program that runs the task is alive.
func runs(dir *os.Root) bool {
	f, err := dir.Open(lockFile)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(filelock.Try(f, false), filelock.ErrLocked)
}

// loadEnd takes over how the task ended, if known.
func (t *Task) loadEnd(dir *os.Root) bool {
	var end status
	if readJSON(dir, statusFile, &end) != nil {
		return false
	}
	t.State, t.ExitCode, t.Signal, t.Reason = end.State, end.ExitCode, end.Signal, end.Reason
	t.Connections, t.ConnectionsMissed = end.Connections, end.ConnectionsMissed
	if !end.Ended.IsZero() {
		t.Ended = &end.Ended
	}
	return true
}

// List returns the tasks of the workspace, oldest first.
func (s *Store) List() ([]Task, error) {
	dir, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(err)
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, unreadable(err)
	}
	var tasks []Task
	for _, entry := range entries {
		if !entry.IsDir() || !validID(entry.Name()) {
			continue
		}
		// A task that cannot be read is being made or removed.
		if t, err := s.Get(entry.Name()); err == nil {
			tasks = append(tasks, *t)
		}
	}
	slices.SortFunc(tasks, func(a, b Task) int {
		return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID))
	})
	return tasks, nil
}

// Reached adds to a call's recorded connections those of ended tasks that it started.
func (s *Store) Reached(session, call string, recorded json.RawMessage) json.RawMessage {
	var all []network.Connection
	_ = json.Unmarshal(recorded, &all)
	tasks, _ := s.List()
	for _, t := range tasks {
		if t.Session == session && t.Call == call {
			all = append(all, t.Connections...)
		}
	}
	if len(all) == 0 {
		return recorded
	}
	return tool.MustMarshal(all)
}

// Wait waits until the task or ctx has ended, and returns the task. The end of ctx is no error.
func (s *Store) Wait(ctx context.Context, id string) (*Task, error) {
	for pause := 5 * time.Millisecond; ; pause = min(pause*3/2, 100*time.Millisecond) {
		t, err := s.Get(id)
		if err != nil || t.Done() {
			return t, err
		}
		select {
		case <-ctx.Done():
			return t, nil
		case <-time.After(pause):
		}
	}
}

// prune removes the oldest ended tasks when there are too many.
func (s *Store) prune(dir *os.Root) {
	tasks, err := s.List()
	if err != nil {
		return
	}
	ended := slices.DeleteFunc(tasks, func(t Task) bool { return !t.Done() })
	for _, t := range ended[:max(0, len(ended)-s.options.Keep)] {
		_ = dir.RemoveAll(t.ID)
	}
}

func readJSON(dir *os.Root, name string, v any) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// writeJSON replaces a file atomically.
func writeJSON(dir *os.Root, name string, v any) error {
	temp := name + ".new"
	_ = dir.Remove(temp)
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(tool.MustMarshal(v))
	if err = cmp.Or(err, f.Close()); err != nil {
		return err
	}
	return dir.Rename(temp, name)
}
