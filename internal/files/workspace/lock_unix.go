//go:build unix

package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock that processes share: flock on the directory itself.
func tryLock(dir *os.Root, _ string) (unlock func(), err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err != unix.EINTR {
			break
		}
	}
	if err == nil {
		return func() { f.Close() }, nil
	}
	f.Close()
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, errLocked
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOLCK),
		errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EBADF), errors.Is(err, unix.EINVAL):
		return nil, errNoLocks
	}
	return nil, err
}
