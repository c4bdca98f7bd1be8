package workspace

import (
	"errors"

	"golang.org/x/sys/unix"
)

func renameNoReplace(from int, name string, to int, target *place) error {
	err := renameWith(from, name, to, target.name, noReplace)
	if errors.Is(err, noFlags) || errors.Is(err, unix.ENOSYS) {
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
	return renameWith(fd, name, fd, p.name, swap)
}
