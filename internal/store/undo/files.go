package undo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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
func replaceFile(dir *os.Root, name string, data []byte) error {
	return writeFile(dir, name, false, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// writeFile atomically makes what content writes the content of the file name; durable keeps it through a power cut.
func writeFile(dir *os.Root, name string, durable bool, content func(io.Writer) error) error {
	temp := fmt.Sprintf("%s%d-%016x", tempPrefix, os.Getpid(), rand.Uint64())
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 64<<10)
	err = errors.Join(content(w), w.Flush())
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
