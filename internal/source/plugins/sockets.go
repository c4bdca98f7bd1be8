package plugins

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/toolhost/toolhost/host/tool"
)

// socketPathLimit bounds a socket's path on every unix. go-plugin adds about 40 characters to the directory.
const (
	socketPathLimit = 100
	socketNameRoom  = 40
	socketDirPrefix = "toolhost-"
)

// socketDir is a directory private to this user, made when first needed.
type socketDir struct {
	base string

	mu   sync.Mutex
	dir  string
	lock *os.File
}

func (s *socketDir) path() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, nil
	}
	var failed error
	cache, _ := os.UserCacheDir()
	for _, base := range []string{s.base, os.TempDir(), "/tmp", os.Getenv("XDG_RUNTIME_DIR"), cache} {
		if room := socketPathLimit - len(base) - len(socketDirPrefix) - 10; base == "" || room < socketNameRoom {
			continue
		}
		dir, lock, err := makeSocketDir(base)
		if err == nil {
			s.dir, s.lock = dir, lock
			return dir, nil
		}
		failed = cmp.Or(failed, err)
	}
	if failed == nil {
		failed = errors.New("the names of all directories for temporary files are too long")
	}
	return "", tool.Errorf(tool.Unavailable, "there is no directory for the sockets of plugins: %w", failed).
		Suggest("Set TMPDIR to a directory with a short name that you may write to.")
}

// makeSocketDir makes a directory below base, and removes those of killed hosts.
func makeSocketDir(base string) (dir string, lock *os.File, err error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", nil, err
	}
	sweep(base)
	if dir, err = os.MkdirTemp(base, socketDirPrefix); err != nil { // mode 0700
		return "", nil, err
	}
	if lock, err = lockDir(dir); err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, lock, nil
}

// sweep removes the directories of killed hosts: those that are not locked.
func sweep(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(base, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), socketDirPrefix) || !abandoned(dir) {
			continue
		}
		os.RemoveAll(dir)
	}
}

func (s *socketDir) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	err := os.RemoveAll(s.dir)
	s.lock.Close()
	s.dir = ""
	return err
}

const lockName = "lock"

// lockDir marks dir as in use while the file is open. The lock file gets its name once locked, so that it is never
// seen unlocked.
func lockDir(dir string) (*os.File, error) {
	name := filepath.Join(dir, lockName)
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// abandoned reports whether dir is ours and unused. One without a lock file is being made, or not ours.
func abandoned(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
