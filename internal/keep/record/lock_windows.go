package record

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockHandle waits for the lock of an open file. It lies far beyond the file's
// end, because a lock keeps others from reading what it covers.
func lockHandle(file *os.File) (unlock func(), err error) {
	handle := windows.Handle(file.Fd())
	at := &windows.Overlapped{OffsetHigh: 1 << 30}
	err = windows.LockFileEx(handle, windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, at)
	return func() { windows.UnlockFileEx(handle, 0, 1, 0, at) }, err
}
