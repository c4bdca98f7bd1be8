package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Try takes the lock of an open file, alone or with others who share it, where
// that can be had at once.
func Try(f *os.File, exclusive bool) error {
	return lock(f, kind(exclusive)|windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// Wait takes the lock of an open file, and waits for it without end.
func Wait(f *os.File, exclusive bool) error { return lock(f, kind(exclusive)) }

// Unlock gives up the lock of an open file.
func Unlock(f *os.File) { _ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, place()) }

func kind(exclusive bool) uint32 {
	if exclusive {
		return windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	return 0
}

func lock(f *os.File, how uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, place())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

// place is what is locked: far beyond the file's end, because a lock keeps others
// from reading what it covers.
func place() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }
