//go:build unix

package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/files/filelock"
)

// tryLock takes the lock that processes share: that of the directory itself.
func tryLock(dir *os.Root, _ string) (unlock func(), err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	err = filelock.Try(f, true)
	if err == nil {
		return func() { f.Close() }, nil
	}
	f.Close()
	if errors.Is(err, unix.EBADF) || errors.Is(err, unix.EINVAL) {
		return nil, filelock.ErrNone // of directories
	}
	return nil, err
}
