package record

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
)

var errNotPlain = errors.New("it is a symbolic link, a pipe or another thing that toolhost does not make")

// openDirectory opens a directory through no symlink: where one leads, there
// are other people's files, and old runs are removed.
func openDirectory(root *os.Root, dir string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	for _, name := range strings.Split(path.Clean(dir), "/") {
		if err != nil {
			return nil, err
		}
		var next *os.Root
		next, err = enter(at, name)
		_ = at.Close()
		at = next
	}
	return at, err
}

func enter(dir *os.Root, name string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if opened, err := next.Stat("."); err != nil || !os.SameFile(info, opened) {
		_ = next.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.Join(err, errNotPlain)}
	}
	return next, nil
}

// openPlain opens a regular file. A command may have put a pipe in its place,
// at which opening would wait for ever.
func openPlain(root *os.Root, name string, flags int) (*os.File, error) {
	file, err := root.OpenFile(name, flags|noWaiting, 0o644)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.Join(err, errNotPlain)}
	}
	return file, nil
}
