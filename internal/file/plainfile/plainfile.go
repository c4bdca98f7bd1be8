// Package plainfile opens directories and regular files that others may have replaced, in a workspace that came
// with a repository: a pipe or device is an immediate error instead of blocking, and on request no symbolic link
// is followed.
package plainfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// ErrNotPlain is the error for anything but a plain file or directory.
var ErrNotPlain = errors.New("it is a symbolic link, a pipe or another thing that toolhost does not make")

// Root is os.OpenRoot that does not block on a pipe.
func Root(dir string) (*os.Root, error) { return os.OpenRoot(dir + asDirectory) }

// asDirectory makes the kernel refuse anything but a directory: a check before opening would be a race.
const asDirectory = string(os.PathSeparator) + "."

// In opens a directory below dir like [os.Root.OpenRoot] but does not block on a pipe.
func In(dir *os.Root, name string) (*os.Root, error) { return dir.OpenRoot(name + asDirectory) }

// Enter opens a directory in dir, not through a symbolic link.
func Enter(dir *os.Root, name string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, notPlain(name, nil)
	}
	next, err := In(dir, name)
	if err != nil {
		return nil, err
	}
	if opened, err := next.Stat("."); err != nil || !os.SameFile(info, opened) {
		_ = next.Close()
		return nil, notPlain(name, err)
	}
	return next, nil
}

// Descend enters each directory of a slash path below root in turn.
func Descend(root *os.Root, dir string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	for _, name := range strings.Split(path.Clean(dir), "/") {
		if err != nil {
			return nil, err
		}
		var next *os.Root
		next, err = Enter(at, name)
		_ = at.Close()
		at = next
	}
	return at, err
}

// OpenIn opens a regular file in dir. The flags are those of os.OpenFile.
func OpenIn(dir *os.Root, name string, flags int, mode fs.FileMode) (*os.File, error) {
	file, err := dir.OpenFile(name, flags|noWaiting, mode)
	return regular(file, name, err)
}

// Open opens a regular file for reading. Links are followed.
func Open(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|noWaiting, 0)
	return regular(file, name, err)
}

// Read reads a regular file of at most limit bytes. Links are followed.
func Read(name string, limit int64) ([]byte, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("it is too large")}
	}
	return data, err
}

func regular(file *os.File, name string, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, notPlain(name, err)
	}
	return file, nil
}

func notPlain(name string, err error) error {
	return &fs.PathError{Op: "open", Path: name, Err: errors.Join(err, ErrNotPlain)}
}
