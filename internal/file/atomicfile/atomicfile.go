// Package atomicfile replaces toolhost's own files and the operator's: who
// reads one meanwhile, or after a crash, finds the old content or the new.
//
// Files of a workspace are written by package workspace, which also keeps to
// the workspace.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write makes data the content of the file at path, with the given mode
// whatever the umask. The new content is on disk when it returns. A symlink at
// path is replaced, and not followed.
func Write(path string, data []byte, mode fs.FileMode) error {
	return replace(path, data, func(f *os.File) error { return errors.Join(f.Chmod(mode), f.Sync()) })
}

// WriteCache is Write for what can be made again, such as a cache: it is for
// its owner alone, its directory is made where it is missing, and a power
// failure may lose it.
func WriteCache(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return replace(path, data, func(*os.File) error { return nil })
}

func replace(path string, data []byte, finish func(*os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".toolhost-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = finish(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
