//go:build unix

package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/file/filelock"
)

// lockFile is what is locked: the directory itself.
func lockFile(dir *os.Root, _ string) (*os.File, error) { return dir.Open(".") }

// lockFailure knows what file systems say that cannot lock directories.
func lockFailure(err error) error {
	if errors.Is(err, unix.EBADF) || errors.Is(err, unix.EINVAL) {
		return filelock.ErrNone
	}
	return err
}
