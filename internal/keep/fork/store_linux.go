package fork

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/atomicfile"
)

// What lies in the directory of a fork.
const (
	infoName   = "fork.json"
	lockName   = "lock"
	clockName  = "clock"
	upperName  = "upper"
	workName   = "work"
	baseName   = "base.jsonl"
	objectsDir = "objects"
	stateName  = "state"
	intentName = "merging.json"
)

// Fork is a fork that is held: nobody else works in it, merges or drops it. Close
// it. One that is [Named] is not held, and can only be looked at.
type Fork struct {
	Info
	dir  string
	lock *os.File

	mu           sync.Mutex
	upper, lower *tree
	known        map[string]base
	swept        time.Time // what has changed since may have changed before the fork saw it
}

// Create makes a fork of the workspace at root, below the directory of its state.
func Create(state, root, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	dir := filepath.Join(state, DirName)
	if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
		return tool.Errorf(tool.Conflict, "there is a fork %s already", name).
			Suggest("Work in it with --fork %s, drop it with `toolhost fork drop %s`, or choose another name.", name, name)
	}
	info, err := os.Stat(root)
	if err != nil {
		return unmade(name, err)
	}
	sweepGone(dir)
	made := filepath.Join(dir, ".new-"+rand.Text())
	for _, sub := range []string{"", upperName, workName, objectsDir, stateName} {
		if err := os.MkdirAll(filepath.Join(made, sub), 0o700); err != nil {
			return unmade(name, err)
		}
	}
	f := &Fork{Info: Info{Name: name, Root: root, Made: time.Now().UTC()}, dir: made}
	err = os.Chmod(filepath.Join(made, upperName), info.Mode().Perm()|0o700)
	if err == nil {
		f.swept, err = f.stamp(true)
	}
	if err == nil {
		err = errors.Join(f.append(line{Swept: &f.swept}), f.saveInfo(), os.WriteFile(filepath.Join(made, lockName), nil, 0o600))
	}
	if err == nil {
		err = unix.Renameat2(unix.AT_FDCWD, made, unix.AT_FDCWD, filepath.Join(dir, name), unix.RENAME_NOREPLACE)
	}
	if err != nil {
		_ = clearOut(made)
		return unmade(name, err)
	}
	return nil
}

func unmade(name string, err error) error {
	return tool.Errorf(tool.Unavailable, "the fork %s cannot be made: %w", name, err).
		Suggest("Make space in the user's state directory, or repair it.")
}

// saveInfo writes what is known of the fork.
func (f *Fork) saveInfo() error {
	data, err := json.Marshal(f.Info)
	if err == nil {
		err = atomicfile.Write(filepath.Join(f.dir, infoName), data, 0o600)
	}
	return err
}

func readInfo(dir string) (Info, error) {
	var info Info
	data, err := os.ReadFile(filepath.Join(dir, infoName))
	if err == nil {
		err = json.Unmarshal(data, &info)
	}
	info.Name = filepath.Base(dir)
	return info, err
}

// List gives the forks of a workspace, by name.
func List(state string) ([]Info, error) {
	entries, err := os.ReadDir(filepath.Join(state, DirName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, tool.Errorf(tool.Unavailable, "the forks cannot be listed: %w", err).
			Suggest("Make %s readable for this user.", state)
	}
	var list []Info
	for _, entry := range entries {
		dir := filepath.Join(state, DirName, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		info, err := readInfo(dir)
		if err != nil {
			return nil, damaged(entry.Name(), err)
		}
		lock, err := takeLock(filepath.Join(dir, lockName))
		info.InUse = errors.Is(err, unix.EWOULDBLOCK)
		if err == nil {
			_ = lock.Close()
		}
		list = append(list, info)
	}
	return list, nil
}

func damaged(name string, err error) error {
	return tool.Errorf(tool.Unavailable, "what is known of the fork %s cannot be read: %w", name, err).
		Suggest("Repair it, or give it up with `toolhost fork drop %s`.", name)
}

func takeLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// Exists refuses a name by which there is no fork.
func Exists(state, name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(state, DirName, name, lockName)); err != nil {
		return tool.Errorf(tool.NotFound, "there is no fork %s of this workspace", name).
			Suggest("`toolhost fork list` shows them; `toolhost fork %s` makes it.", name)
	}
	return nil
}

// Hold takes a fork, so that it can be entered or dropped.
func Hold(state, name string) (*Fork, error) {
	if err := Exists(state, name); err != nil {
		return nil, err
	}
	dir := filepath.Join(state, DirName, name)
	lock, err := takeLock(filepath.Join(dir, lockName))
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, tool.Errorf(tool.Conflict, "the fork %s is in use: a session or a merge works in it", name).
			Suggest("End that first (the agent's client, `toolhost serve --fork %s`, or its background tasks), or use "+
				"another fork.", name)
	}
	if err != nil {
		return nil, damaged(name, err)
	}
	f := &Fork{Info: Info{Name: name}, dir: dir, lock: lock}
	var mine, there unix.Stat_t
	if err = errors.Join(unix.Fstat(int(lock.Fd()), &mine),
		unix.Lstat(filepath.Join(dir, lockName), &there)); err != nil || mine.Ino != there.Ino {
		f.Close()
		return nil, tool.Errorf(tool.NotFound, "the fork %s has just been dropped", name).
			Suggest("`toolhost fork list` shows what there is.")
	}
	return f, nil
}

// Open takes a fork of the workspace at root, to look into it.
func Open(state, name, root string) (*Fork, error) {
	f, err := Hold(state, name)
	if err != nil {
		return nil, err
	}
	lower, err := openTree(root)
	if err == nil {
		err = f.look(lower)
	}
	if err != nil {
		f.Close()
		return nil, damaged(name, err)
	}
	if _, err := f.Sweep(true); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// look opens what the fork holds, above a tree.
func (f *Fork) look(lower *tree) (err error) {
	f.lower = lower
	if f.Info, err = readInfo(f.dir); err != nil {
		return err
	}
	if f.upper, err = openTree(filepath.Join(f.dir, upperName)); err != nil {
		return err
	}
	return f.readBase()
}

// Close lets the fork go.
func (f *Fork) Close() {
	f.upper.close()
	f.lower.close()
	if f.lock != nil {
		_ = f.lock.Close()
	}
}

// Drop removes the fork with all that is in it.
func (f *Fork) Drop() error {
	gone := filepath.Join(filepath.Dir(f.dir), ".gone-"+rand.Text())
	err := os.Rename(f.dir, gone)
	if err == nil {
		err = clearOut(gone)
	}
	if err != nil {
		return tool.Errorf(tool.Unavailable, "the fork %s cannot be removed: %w", f.Name, err).
			Suggest("Remove %s by hand.", gone)
	}
	return nil
}

// sweepGone removes what makers and removers of forks left that were killed.
func sweepGone(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if info, err := entry.Info(); err == nil && strings.HasPrefix(entry.Name(), ".") &&
			(strings.HasPrefix(entry.Name(), ".gone-") || time.Since(info.ModTime()) > 24*time.Hour) {
			_ = clearOut(path)
		}
	}
}

// clearOut removes a directory in which programs and the kernel may have left
// directories that nobody may look into.
func clearOut(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // before it is read
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// patience bounds the wait for a tick of the clock that stamps files.
const patience = 100 * time.Millisecond

// stamp is the time by the clock that stamps files. With a tick it is later than
// any stamp of what happened before.
func (f *Fork) stamp(tick bool) (time.Time, error) {
	name := filepath.Join(f.dir, clockName)
	began := time.Now()
	var first time.Time
	for {
		at := time.Now()
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			return first, err
		}
		info, err := os.Stat(name)
		if err != nil {
			return first, err
		}
		now := info.ModTime()
		if !tick || !first.IsZero() && now.After(first) || at.Sub(began) > patience {
			return now, nil
		}
		if first.IsZero() {
			first = now
		}
	}
}
