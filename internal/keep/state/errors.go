package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/toolhost/toolhost/host/tool"
)

// versionError says that a newer program wrote the file.
type versionError struct{ have int }

func (e *versionError) Error() string {
	return fmt.Sprintf("layout %d, this program knows layout %d", e.have, schemaVersion)
}

// failure turns what went wrong while doing something to the file into an
// error that says what to do about it. Errors that are the caller's own pass.
func (s *Store) failure(doing string, err error) error {
	var known *tool.Error
	var newer *versionError
	var refused *changeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused.err
	case errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled):
		return tool.Errorf(tool.Cancelled, "cannot %s the state file %s: %w", doing, s.path, err).
			Suggest("The call was cancelled; call again.")
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(tool.Timeout, "cannot %s the state file %s: %w", doing, s.path, err).
			Suggest("Call again, or with a longer timeout.")
	case errors.As(err, &newer):
		return tool.Errorf(tool.Unsupported, "the state file %s was written by a newer toolhost: %w", s.path, err).
			Suggest("Use the newer toolhost, or move the file away to start with empty state.")
	case errors.Is(err, fs.ErrPermission):
		return tool.Errorf(tool.PermissionDenied, "cannot %s the state file %s: %w", doing, s.path, err).
			Suggest("Make the file and its directory writable for this user.")
	}
	return s.sqliteFailure(doing, err)
}

func (s *Store) sqliteFailure(doing string, err error) error {
	switch resultCode(err) {
	case sqlitelib.SQLITE_BUSY, sqlitelib.SQLITE_LOCKED:
		return tool.Errorf(tool.Unavailable, "the state file %s stayed locked by another process for %s: %w", s.path,
			lockWait, err).
			Suggest("Call again; if it persists, end the other process that holds the file.")
	case sqlitelib.SQLITE_READONLY, sqlitelib.SQLITE_PERM, sqlitelib.SQLITE_AUTH:
		return tool.Errorf(tool.PermissionDenied, "the state file %s is read-only: %w", s.path, err).
			Suggest("Make the file and its directory writable for this user.")
	case sqlitelib.SQLITE_CORRUPT, sqlitelib.SQLITE_NOTADB, sqlitelib.SQLITE_CANTOPEN:
		return tool.Errorf(tool.Unavailable, "the state file %s is damaged, or a file beside it: %w", s.path, err).
			Suggest("Move the file away, with the -wal, -shm and -journal files beside it, to start with empty state.")
	case sqlitelib.SQLITE_FULL:
		return tool.Errorf(tool.Unavailable, "no space left for the state file %s: %w", s.path, err).
			Suggest("Free space on that file system and call again; nothing of this change was stored.")
	case sqlitelib.SQLITE_TOOBIG:
		return tool.Errorf(tool.TooLarge, "the value is too large for the state file %s: %w", s.path, err).
			Suggest("Keep large data in a file and its path in the state.")
	}
	return tool.Errorf(tool.Unavailable, "cannot %s the state file %s: %w", doing, s.path, err).
		Suggest("Check the file system that the file lies on, then call again.")
}

// resultCode gives SQLite's primary result code of err, 0 for a foreign error.
func resultCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// retryBusy repeats do while another process holds the file, until lockWait
// has passed or ctx ends.
func retryBusy(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(lockWait)
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := do()
		code := resultCode(err)
		busy := code == sqlitelib.SQLITE_BUSY || code == sqlitelib.SQLITE_LOCKED
		if !busy || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
