package undo

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// lockWait bounds how long anything waits for a lock: another toolhost may hang.
const lockWait = 10 * time.Second

// errLocked is what tryLock returns while somebody else holds the lock, and
// errNoLocks where the file system knows none.
var (
	errLocked  = errors.New("locked by another process")
	errNoLocks = errors.New("the file system has no locks")
)

// The files that are locked: the store's content, shared by all who use it and
// alone for pruning, and undoing, one at a time.
const (
	contentLock = "lock"
	undoLock    = "undo.lock"
)

// lock takes the lock of that name. sure is false on a file system without
// locks.
func (v *vault) lock(ctx context.Context, name string, exclusive bool, wait time.Duration) (unlock func(), sure bool,
	err error) {
	f, err := v.dir.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, err
	}
	for pause, deadline := 100*time.Microsecond, time.Now().Add(wait); ; pause = min(2*pause, 10*time.Millisecond) {
		err = tryLock(f, exclusive)
		switch {
		case err == nil:
			return func() { f.Close() }, true, nil
		case errors.Is(err, errNoLocks):
			f.Close()
			return func() {}, false, nil
		case !errors.Is(err, errLocked) || time.Now().After(deadline):
			f.Close()
			return nil, false, lockError(err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, false, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func lockError(err error) error {
	if !errors.Is(err, errLocked) {
		return err
	}
	return tool.Errorf(tool.Timeout, "the undo store is %w", err).
		Suggest("Try again; if it persists, see whether another toolhost hangs.")
}
