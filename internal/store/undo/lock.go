package undo

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/filelock"
)

// lockWait bounds the wait for a lock: another toolhost may hang. Tests with many processes set it longer.
var lockWait = 10 * time.Second

// The locked files: the store's content, shared by all users and exclusive for pruning, and undoing, one at a
// time.
const (
	contentLock = "lock"
	undoLock    = "undo.lock"
)

// lock takes the lock of that name. locked is false on a file system without locks.
func (v *storeDir) lock(ctx context.Context, name string, exclusive bool, wait time.Duration) (unlock func(), locked bool,
	err error) {
	f, err := v.dir.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, err
	}
	locked, err = await(ctx, f, exclusive, wait)
	switch {
	case err != nil:
		f.Close()
		return nil, false, err
	case !locked:
		f.Close()
		return func() {}, false, nil
	}
	return func() { f.Close() }, true, nil
}

// await locks an open file. locked is false on a file system without locks.
func await(ctx context.Context, f *os.File, exclusive bool, wait time.Duration) (locked bool, err error) {
	patient, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err = filelock.Await(patient, f, exclusive)
	switch {
	case errors.Is(err, filelock.ErrNone):
		return false, nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		err = filelock.ErrLocked
	}
	if errors.Is(err, filelock.ErrLocked) {
		return false, tool.Errorf(tool.Timeout, "the undo store is %w", err).
			Suggest("Try again; if it persists, see whether another toolhost hangs.")
	}
	return err == nil, err
}
