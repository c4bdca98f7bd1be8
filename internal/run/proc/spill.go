package proc

import (
	"errors"
	"os"
	"path/filepath"
)

// spill is the file for a whole stream. The zero spill keeps nothing.
type spill struct {
	root, path string
	limit      int64

	file    *os.File
	written int64
	err     error
}

// open makes the file, replacing an existing one.
func (s *spill) open() {
	if s.path == "" {
		return
	}
	if s.root == "" {
		s.root = filepath.Dir(s.path)
		s.err = os.MkdirAll(s.root, 0o700)
	}
	if s.err == nil {
		s.file, s.err = s.create()
	}
}

func (s *spill) create() (*os.File, error) {
	root, name, err := s.openRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	// An existing file may be a link, or open elsewhere.
	if err := root.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// write appends to the file. After an error the file is removed: half of it would only waste space.
func (s *spill) write(p []byte) {
	if s.file == nil {
		return
	}
	if room := s.limit - s.written; int64(len(p)) > room {
		p = p[:max(0, room)]
	}
	n, err := s.file.Write(p)
	s.written += int64(n)
	if err != nil {
		s.err = err
		_ = s.file.Truncate(0)
		s.close()
		if root, name, err := s.openRoot(); err == nil {
			_ = root.Remove(name)
			_ = root.Close()
		}
	}
}

func (s *spill) close() {
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

func (s *spill) openRoot() (root *os.Root, name string, err error) {
	if name, err = filepath.Rel(s.root, s.path); err != nil {
		return nil, "", err
	}
	root, err = os.OpenRoot(s.root)
	return root, name, err
}
