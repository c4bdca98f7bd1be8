//go:build unix

package background

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/filelock"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// openFlags open a pipe without waiting for its other end.
const openFlags = unix.O_NONBLOCK | unix.O_CLOEXEC

// killPatience is how long a supervisor may take to end its task, beyond the
// grace that the task has.
const killPatience = 10 * time.Second

// Kill ends a task and everything it started, and gives it as it is then.
// already is true for one that had ended before. The error is a *tool.Error of
// code not_found when there is no such task, and of code unavailable when it
// does not end.
func (s *Store) Kill(ctx context.Context, id string) (t *Task, already bool, err error) {
	if t, err = s.Get(id); err != nil {
		return nil, false, err
	}
	if t.Done() {
		if t.State == Lost {
			proc.KillMarked(taskMark + "=" + id)
		}
		return t, true, nil
	}
	if err := s.order(id); err != nil {
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

// order tells a supervisor to end its task. One that is gone needs no order.
func (s *Store) order(id string) error {
	dir, err := s.openTask(id)
	if err != nil {
		return err
	}
	defer dir.Close()
	pipe, err := dir.OpenFile(controlFile, os.O_WRONLY|openFlags, 0)
	if errors.Is(err, unix.ENXIO) {
		return nil
	}
	if err != nil {
		return err
	}
	defer pipe.Close()
	_, err = pipe.Write([]byte{'k'})
	return err
}

// Owner is a session that ends, and its tasks with it.
type Owner struct {
	store   *Store
	session string
	file    *os.File
}

// ownerFile is locked while a session's owner lives.
func ownerFile(session string) string {
	sum := sha256.Sum256([]byte(session))
	return "owner-" + hex.EncodeToString(sum[:10])
}

// owned reports whether a session has an owner that lives.
func owned(dir *os.Root, session string) bool {
	f, err := dir.Open(ownerFile(session))
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(filelock.Try(f, false), filelock.ErrLocked)
}

// Own makes the tasks of a session end with this process, at the latest, and
// with [Owner.End]. A session has one owner at a time.
func (s *Store) Own(session string) (*Owner, error) {
	if s.dir == "" {
		return &Owner{store: s, session: session}, nil // of no tasks
	}
	dir, err := s.open(true)
	if err != nil {
		return nil, unmade(err)
	}
	defer dir.Close()
	f, err := dir.OpenFile(ownerFile(session), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, unmade(err)
	}
	if err := filelock.Try(f, true); err != nil {
		f.Close()
		return nil, tool.Errorf(tool.Conflict, "the session %q has an owner already: %w", session, err).
			Suggest("Use another name for the session.")
	}
	return &Owner{store: s, session: session, file: f}, nil
}

// End ends the tasks of the session, waits for that, and gives how many there
// were.
func (o *Owner) End(ctx context.Context) (int, error) {
	ended, err := o.store.EndSession(ctx, o.session)
	if dir, openErr := o.store.open(false); openErr == nil {
		_ = dir.Remove(ownerFile(o.session))
		_ = dir.Close()
	}
	_ = o.file.Close()
	return ended, err
}

// EndSession kills the running tasks of a session, all at the same time, and
// gives how many there were.
func (s *Store) EndSession(ctx context.Context, session string) (int, error) {
	tasks, err := s.List()
	if err != nil {
		return 0, err
	}
	results := make(chan error)
	running := 0
	for _, t := range tasks {
		if t.Session == session && !t.Done() {
			running++
			go func() {
				_, _, err := s.Kill(ctx, t.ID)
				results <- err
			}()
		}
	}
	for range running {
		err = errors.Join(err, <-results)
	}
	return running, err
}

// supervised reports whether the task's supervisor lives.
func supervised(dir *os.Root) bool {
	f, err := dir.Open(lockFile)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(filelock.Try(f, false), filelock.ErrLocked)
}

// lockStore lets one process at a time start a task, so that the bound on
// running ones holds.
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

func makePipe(dir *os.Root, name string) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return mkfifoat(int(d.Fd()), dir.Name(), name)
}
