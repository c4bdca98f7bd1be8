package workspace

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// renameUnlessThere is for file systems that cannot refuse to replace. Other
// toolhosts are kept out by the lock.
func renameUnlessThere(from int, name string, to int, target *place) error {
	if _, err := target.dir.Lstat(target.name); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			return fs.ErrExist
		}
		return err
	}
	return unix.Renameat(from, name, to, target.name)
}
