package workspace

import (
	"errors"

	"golang.org/x/sys/unix"
)

func renameNoReplace(from int, name string, to int, target *place) error {
	err := unix.RenameatxNp(from, name, to, target.name, unix.RENAME_EXCL)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return renameUnlessThere(from, name, to, target)
	}
	return err
}
