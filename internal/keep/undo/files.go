package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/plainfile"
)

const maxRaces = 20 // how often a name may change while it is opened

// errPlanted says that a name in the store is not what toolhost makes.
var errPlanted = errors.New("it is not a plain file or directory of the store")

func planted(name string) error {
	return tool.Errorf(tool.Blocked,
		"%s in .agent/undo is a symbolic link or another thing that toolhost does not make: %w", name, errPlanted).
		Suggest("Find out who put it there and remove it.").With("reason", "planted")
}

// enter opens the directory name in dir, not through a symlink, and makes it
// if asked to.
func enter(dir *os.Root, name string, create bool, mode fs.FileMode) (*os.Root, error) {
	next, err := plainfile.Enter(dir, name)
	if errors.Is(err, fs.ErrNotExist) && create {
		if err := dir.Mkdir(name, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		next, err = plainfile.Enter(dir, name)
	}
	if errors.Is(err, plainfile.ErrNotPlain) {
		return nil, planted(name)
	}
	return next, err
}

// openFile opens a regular file that has one name only, and creates it if the
// flags say so.
func openFile(dir *os.Root, name string, flags int) (*os.File, error) {
	for range maxRaces {
		info, err := dir.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) && flags&os.O_CREATE != 0 {
			f, err := dir.OpenFile(name, flags|os.O_EXCL, 0o600)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			return f, err
		}
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() || links(info) > 1 {
			return nil, planted(name)
		}
		f, err := dir.OpenFile(name, flags&^os.O_CREATE|openFlags, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if opened, err := f.Stat(); err == nil && os.SameFile(info, opened) {
			return f, nil
		}
		f.Close()
	}
	return nil, planted(name)
}

const tempPrefix = "tmp-"

// replaceFile makes data the content of the file name, in one step.
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

// names lists a directory of the store, sorted.
func names(dir *os.Root) ([]fs.DirEntry, error) { return fs.ReadDir(dir.FS(), ".") }
