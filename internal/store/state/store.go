package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/filelock"
	"github.com/toolhost/toolhost/internal/file/plainfile"
)

const (
	sessionsDir  = "sessions"
	memoriesFile = "memories.json"
	lockFile     = "state.lock"
)

// settled is the age from which a file is identified by its time and inode, which the file system may reuse.
const settled = 2 * time.Second

// lockWait is how long a writer waits for other processes. Tests with many set it longer.
var lockWait = 10 * time.Second

// Store is the state of one workspace. It is safe for concurrent use.
type Store struct {
	dir string // "" in memory

	changing sync.Mutex // in memory, in place of the lock

	mu     sync.Mutex
	closed bool
	memory map[string]content // the files by name, in memory
	read   map[string]cached
}

// cached is a file as last read.
type cached struct {
	info    fs.FileInfo
	content content
}

// Open returns the store in dir, an absolute path where only the user may write. It accesses nothing: the first
// write makes what is missing. The caller must close the store.
func Open(dir string) (*Store, error) {
	if !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return nil, tool.Errorf(tool.InvalidArgument, "the state needs an absolute path, not %q", dir).
			Suggest("Give the path of a directory in the user's own state.")
	}
	return &Store{dir: filepath.Clean(dir), read: make(map[string]cached)}, nil
}

// InMemory returns a store that ends with the process.
func InMemory() *Store { return &Store{memory: make(map[string]content)} }

// Dir returns the directory of the store, "" in memory.
func (s *Store) Dir() string { return s.dir }

// Close makes later accesses fail as unavailable.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// EndSession drops all that session stored in the session scope, for every source.
func (s *Store) EndSession(ctx context.Context, session string) error {
	return s.drop(ctx, sessionFile(session), time.Time{})
}

// DropOlder drops the entries of sessions unchanged since before, left by hosts that ended without
// [Store.EndSession]. It returns the number of sessions dropped.
func (s *Store) DropOlder(ctx context.Context, before time.Time) (dropped int64, err error) {
	if s.dir == "" {
		return 0, nil
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, sessionsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, s.failure("list the sessions of", err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue
		}
		if err := s.drop(ctx, filepath.Join(sessionsDir, entry.Name()), before); err != nil {
			return dropped, err
		}
		dropped++
	}
	return dropped, nil
}

// drop removes a file; if before is set, only if unchanged since.
func (s *Store) drop(ctx context.Context, name string, before time.Time) error {
	if s.dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.memory, name)
		return nil
	}
	s.mu.Lock()
	delete(s.read, name)
	s.mu.Unlock()
	path := filepath.Join(s.dir, name)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	info, err := os.Lstat(path)
	if err == nil && (before.IsZero() || info.ModTime().Before(before)) {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.failure("remove "+name+" of", err)
}

// lock waits for the turn to write, making the directory and the lock's file.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, s.failure("make", err)
	}
	file, err := os.OpenFile(filepath.Join(s.dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, s.failure("lock", err)
	}
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if err := filelock.Await(waiting, file, true); err != nil {
		file.Close()
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			return nil, tool.Errorf(tool.Unavailable, "the state %s stayed locked by another process for %s", s.dir,
				lockWait).
				Suggest("Call again; if it persists, end the other process that holds " + lockFile + ".")
		}
		return nil, s.failure("lock", err)
	}
	return func() {
		filelock.Unlock(file)
		file.Close()
	}, nil
}

func (s *Store) usable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return tool.Errorf(tool.Unavailable, "the state %s is closed", s.dir).
			Suggest("The host is shutting down; call again in a new one.")
	}
	return nil
}

// load reads a file. A missing one is empty.
func (s *Store) load(name string) (content, error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return s.memory[name].clone(), nil
	}
	path := filepath.Join(s.dir, name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		delete(s.read, name)
		return nil, nil
	}
	if err != nil {
		return nil, s.failure("read "+name+" of", err)
	}
	if info.IsDir() {
		return nil, isDirectory(path)
	}
	// A file is replaced and never written to, so the same file has the same content.
	if known, ok := s.read[name]; ok && os.SameFile(known.info, info) && known.info.Size() == info.Size() &&
		known.info.ModTime().Equal(info.ModTime()) {
		return known.content.clone(), nil
	}
	data, err := plainfile.Read(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.failure("read "+name+" of", err)
	}
	c, err := parse(data)
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "%s is damaged: %w", path, err).
			Suggest("Move the file away to start without what it holds.")
	}
	if time.Since(info.ModTime()) > settled {
		s.read[name] = cached{info, c.clone()}
	}
	return c, nil
}

func isDirectory(path string) error {
	return tool.Errorf(tool.IsDirectory, "%s is a directory; a file of the state belongs there", path).
		Suggest("Move the directory away; the next call makes the file.")
}

// save replaces a file, and removes one that would be empty. The lock must be held.
func (s *Store) save(name string, c content) error {
	if s.dir == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.memory[name] = c
		return nil
	}
	path := filepath.Join(s.dir, name)
	if len(c) == 0 {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return s.failure("remove "+name+" of", err)
		}
		return nil
	}
	data := c.format()
	if len(data) > maxFile {
		return tool.Errorf(tool.TooLarge, "the state file %s would take %d bytes; at most %d are kept", path, len(data),
			maxFile).
			Suggest("Remove what is no longer needed, or put large data in a file, and only its path in the state.")
	}
	return s.failure("write "+name+" of", s.replace(path, data))
}

// failure returns the error for a failed operation on the state.
func (s *Store) failure(doing string, err error) error {
	what := fmt.Sprintf("cannot %s the state %s", doing, s.dir)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return tool.Errorf(tool.Cancelled, "%s: %w", what, err).Suggest("The call was cancelled; call again.")
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(tool.Timeout, "%s: %w", what, err).Suggest("Call again, or with a longer timeout.")
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return tool.Errorf(tool.PermissionDenied, "%s: %w", what, err).
			Suggest("Make the directory and its files writable for this user.")
	case errors.Is(err, syscall.ENOSPC):
		return tool.Errorf(tool.Unavailable, "%s: no space left: %w", what, err).
			Suggest("Free space on that file system and call again; nothing of this change was stored.")
	}
	return tool.Errorf(tool.Unavailable, "%s: %w", what, err).
		Suggest("Check the file system that the directory lies on, then call again.")
}
