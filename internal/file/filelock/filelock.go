// Package filelock locks open files against other processes. A lock ends at the latest with the last handle of the
// file, even of a killed process.
package filelock

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked is the error of [Try] while another process has the lock, ErrNone that of all functions on a file
// system without locks.
var (
	ErrLocked = errors.New("locked by another process")
	ErrNone   = errors.New("the file system has no locks")
)

// Await takes the lock of an open file, waiting until ctx ends. It polls, as a blocking call could not be
// cancelled.
func Await(ctx context.Context, f *os.File, exclusive bool) error {
	for pause := 200 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		if err := Try(f, exclusive); !errors.Is(err, ErrLocked) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Try takes the exclusive or shared lock of an open file without waiting.
func Try(f *os.File, exclusive bool) error { return lock(f, kind(exclusive)|unix.LOCK_NB) }

// Wait takes the lock of an open file, waiting forever.
func Wait(f *os.File, exclusive bool) error { return lock(f, kind(exclusive)) }

// Unlock releases the lock of an open file.
func Unlock(f *os.File) { _ = flock(f, unix.LOCK_UN) }

func kind(exclusive bool) int {
	if exclusive {
		return unix.LOCK_EX
	}
	return unix.LOCK_SH
}

func lock(f *os.File, how int) error {
	for {
		err := flock(f, how)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOLCK),
			errors.Is(err, unix.ENOSYS):
			return ErrNone
		}
		return err
	}
}

// flock does not change the file's mode; f.Fd would disable the deadlines of a pipe.
func flock(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return errors.Join(raw.Control(func(fd uintptr) { err = unix.Flock(int(fd), how) }), err)
}
