//go:build !windows

package record

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockHandle waits for the lock of an open file.
func lockHandle(file *os.File) (unlock func(), err error) { return flock(file, unix.LOCK_EX) }

// tryLock takes the lock of an open file where nobody has it.
func tryLock(file *os.File) (unlock func(), free bool) {
	unlock, err := flock(file, unix.LOCK_EX|unix.LOCK_NB)
	return unlock, err == nil
}

func flock(file *os.File, how int) (unlock func(), err error) {
	for {
		err := unix.Flock(int(file.Fd()), how)
		if err == unix.EINTR {
			continue
		}
		return func() { unix.Flock(int(file.Fd()), unix.LOCK_UN) }, err
	}
}
