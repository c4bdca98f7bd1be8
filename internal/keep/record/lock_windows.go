package record

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockHandle waits for the lock of an open file. It lies far beyond the file's
// end, because a lock keeps others from reading what it covers.
func lockHandle(file *os.File) (unlock func(), err error) {
	return lockRange(file, windows.LOCKFILE_EXCLUSIVE_LOCK)
}

// tryLock takes the lock of an open file where nobody has it.
func tryLock(file *os.File) (unlock func(), free bool) {
	unlock, err := lockRange(file, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
	return unlock, err == nil
}

func lockRange(file *os.File, how uint32) (unlock func(), err error) {
	handle := windows.Handle(file.Fd())
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err = windows.LockFileEx(handle, how, 0, 1, 0, at)
	return func() { windows.UnlockFileEx(handle, 0, 1, 0, at) }, err
}
