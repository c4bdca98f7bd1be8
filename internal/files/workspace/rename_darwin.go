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

// exchange makes the place's file and the one beside it change names, in one
// step.
func exchange(p *place, name string) error {
	dir, done, err := p.self()
	if err != nil {
		return err
	}
	defer done()
	fd := int(dir.Fd())
	return unix.RenameatxNp(fd, name, fd, p.name, unix.RENAME_SWAP)
}
