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
)

// The files of a task.
const (
	recordFile  = "task.json"   // written before the start
	statusFile  = "status.json" // written at the end
	lockFile    = "lock"        // locked while the supervisor lives
	controlFile = "control"     // a pipe that takes orders
	maxRecord   = 1 << 20
)

// status is how a task ended.
type status struct {
	State    State     `json:"state"`
	Ended    time.Time `json:"ended"`
	ExitCode *int      `json:"exit_code,omitempty"`
	Signal   string    `json:"signal,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

// Dir is the directory that the tasks are kept in, "" for none. A copy of it elsewhere
// has the tasks as they were: those that ran there then are lost.
func (s *Store) Dir() string { return s.dir }

// Running gives the tasks of some sessions that run.
func (s *Store) Running(of func(session string) bool) ([]Task, error) {
	tasks, err := s.List()
	return slices.DeleteFunc(tasks, func(t Task) bool { return t.Done() || !of(t.Session) }), err
}

// EndAll kills the tasks of some sessions that run, and keeps why.
func (s *Store) EndAll(ctx context.Context, of func(session string) bool, reason string) error {
	running, err := s.Running(of)
	results := make(chan error)
	for _, t := range running {
		go func() { results <- s.endFor(ctx, t.ID, reason) }()
	}
	for range running {
		err = errors.Join(err, <-results)
	}
	return err
}

func (s *Store) endFor(ctx context.Context, id, reason string) error {
	t, _, err := s.Kill(ctx, id)
	if err != nil || t.State != Killed {
		return err
	}
	dir, err := s.openTask(id)
	if err != nil {
		return err
	}
	defer dir.Close()
	return writeJSON(dir, statusFile, status{State: Killed, Ended: *t.Ended, ExitCode: t.ExitCode, Signal: t.Signal,
		Reason: reason})
}

// open opens the directory of tasks. With make it is made if it is missing.
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

// errNoPlace says why no task starts.
var errNoPlace = tool.Errorf(tool.Unavailable,
	"there is no place for background tasks: toolhost has no directory for its state").
	Suggest("Run the command in the foreground; toolhost doctor tells the user what is wrong with the directory.")

// openTask opens the directory of a task.
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

// validID reports whether id may be one of ours: it names a directory.
func validID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func newID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:10]) }

// Get gives a task. The error is a *tool.Error of code not_found when there is
// none of that id.
func (s *Store) Get(id string) (*Task, error) {
	dir, err := s.openTask(id)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return load(dir, id)
}

// load reads a task's files. The status is looked for again when the
// supervisor is gone: it may have been written a moment ago.
func load(dir *os.Root, id string) (*Task, error) {
	t := &Task{ID: id}
	if err := readJSON(dir, recordFile, t); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, notFound(id)
		}
		return nil, unreadable(err)
	}
	t.ID = id
	if t.settle(dir) {
		return t, nil
	}
	if supervised(dir) {
		t.State = Running
		return t, nil
	}
	if !t.settle(dir) {
		t.State, t.Reason = Lost, "the process that watched over the task is gone"
	}
	return t, nil
}

// settle takes over how the task ended, if that is known.
func (t *Task) settle(dir *os.Root) bool {
	var end status
	if readJSON(dir, statusFile, &end) != nil {
		return false
	}
	t.State, t.Ended, t.ExitCode, t.Signal, t.Reason = end.State, &end.Ended, end.ExitCode, end.Signal, end.Reason
	return true
}

// List gives the tasks of the workspace, the oldest first.
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
		// One that cannot be read is being made, or removed.
		if t, err := s.Get(entry.Name()); err == nil {
			tasks = append(tasks, *t)
		}
	}
	slices.SortFunc(tasks, func(a, b Task) int {
		return cmp.Or(a.Started.Compare(b.Started), strings.Compare(a.ID, b.ID))
	})
	return tasks, nil
}

// Wait waits until the task has ended, or ctx has, and gives it as it is then.
// The end of ctx is no error.
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

// prune removes the oldest of the ended tasks when they are too many or hold
// too much.
func (s *Store) prune(dir *os.Root) {
	tasks, err := s.List()
	if err != nil {
		return
	}
	ended := slices.DeleteFunc(tasks, func(t Task) bool { return !t.Done() })
	var held int64
	for i, t := range slices.Backward(ended) {
		if held += sizeOf(dir, t.ID); len(ended)-i > s.options.Keep || held > s.options.KeepBytes {
			_ = dir.RemoveAll(t.ID)
		}
	}
}

// sizeOf is how many bytes a task's files hold.
func sizeOf(dir *os.Root, id string) (size int64) {
	entries, _ := fs.ReadDir(dir.FS(), id)
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
	}
	return size
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

// writeJSON writes a file as a whole.
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
