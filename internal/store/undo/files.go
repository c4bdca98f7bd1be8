package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
)

// enter opens the directory name in dir, making it if create is set.
func enter(dir *os.Root, name string, create bool) (*os.Root, error) {
	next, err := dir.OpenRoot(name)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := dir.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		next, err = dir.OpenRoot(name)
	}
	return next, err
}

const tempPrefix = "tmp-"

// replaceFile atomically makes data the content of the file name.
func replaceFile(dir *os.Root, name string, data []byte, durable bool) error {
	temp := fmt.Sprintf("%s%d-%016x", tempPrefix, os.Getpid(), rand.Uint64())
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && durable {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		dir.Remove(temp)
	}
	return err
}

func names(dir *os.Root) ([]fs.DirEntry, error) { return fs.ReadDir(dir.FS(), ".") }
