package workspace

import (
	"errors"

	"golang.org/x/sys/unix"
)

func renameNoReplace(from int, name string, to int, target *place) error {
	err := unix.Renameat2(from, name, to, target.name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return renameUnlessThere(from, name, to, target)
	}
	return err
}
