package record

import (
	"errors"
	"io/fs"
	"os"
)

var errNotPlain = errors.New("it is a pipe or another thing that toolhost does not make")

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
