//go:build unix

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Try takes the lock of an open file, alone or with others who share it, where
// that can be had at once.
func Try(f *os.File, exclusive bool) error { return lock(f, kind(exclusive)|unix.LOCK_NB) }

// Wait takes the lock of an open file, and waits for it without end.
func Wait(f *os.File, exclusive bool) error { return lock(f, kind(exclusive)) }

// Unlock gives up the lock of an open file.
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

// flock leaves the file as it is; f.Fd would take the deadlines of a pipe away.
func flock(f *os.File, how int) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return errors.Join(raw.Control(func(fd uintptr) { err = unix.Flock(int(fd), how) }), err)
}
