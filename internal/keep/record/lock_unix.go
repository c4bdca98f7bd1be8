//go:build !windows

package record

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockHandle waits for the lock of an open file.
func lockHandle(file *os.File) (unlock func(), err error) {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX)
		if err == unix.EINTR {
			continue
		}
		return func() { unix.Flock(int(file.Fd()), unix.LOCK_UN) }, err
	}
}
