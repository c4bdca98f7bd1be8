package plugins

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// socketPathLimit is how long a socket's path may be on every unix. go-plugin
// adds about 40 characters to the directory.
const (
	socketPathLimit = 100
	socketNameRoom  = 40
	socketDirPrefix = "toolhost-"
)

// socketDir is a directory that only this user can look into, made when it is
// first needed.
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
	base := firstShort(s.base, os.TempDir(), "/tmp")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return "", err
	}
	sweep(base)
	dir, err := os.MkdirTemp(base, socketDirPrefix) // mode 0700
	if err != nil {
		return "", err
	}
	if s.lock, err = lockDir(dir); err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	s.dir = dir
	return dir, nil
}

// firstShort gives the first directory whose name leaves room for that of a
// socket.
func firstShort(dirs ...string) string {
	for _, dir := range dirs {
		room := socketPathLimit - len(dir) - len(socketDirPrefix) - 10
		if dir != "" && room >= socketNameRoom {
			return dir
		}
	}
	return dirs[len(dirs)-1]
}

// sweep removes what hosts left behind that were killed: directories that
// nobody holds locked.
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
