package undo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// state is what is at a path: nothing, a file, a directory or a symlink.
type state struct {
	exists bool
	mode   fs.FileMode
	plain  *fs.FileMode // mode without the access control list; nil without a list
	hash   string       // of a file's content, or a symlink's target
	link   string
	size   int64
	mtime  time.Time
	info   fs.FileInfo // as found; nil if planned
}

func (s state) regular() bool { return s.exists && s.mode.IsRegular() }
func (s state) isDir() bool   { return s.exists && s.mode.IsDir() }
func (s state) isLink() bool  { return s.exists && s.mode&fs.ModeSymlink != 0 }

func (s state) special() bool { return s.exists && s.mode&SpecialTypes != 0 }

// unlocked reports whether the owner of a directory may change its entries.
func (s state) unlocked() bool { return s.isDir() && s.mode.Perm()&0o700 == 0o700 }

// holds reports whether kind and content are equal; modes may differ.
func (s state) holds(other state) bool {
	switch {
	case s.exists != other.exists:
		return false
	case !s.exists:
		return true
	case s.mode.Type() != other.mode.Type():
		return false
	case s.isDir():
		return true
	case other.hash == "": // unknown: compare size and time
		return other.size == s.size && !other.mtime.IsZero() && other.mtime.Equal(s.mtime)
	}
	return s.hash == other.hash
}

// before is the path's state before a change of content.
func (l *line) before() state {
	if l.Op == string(workspace.Create) || l.Op == string(workspace.Mkdir) {
		return state{}
	}
	s := state{exists: true, mode: l.Mode, plain: l.Plain, hash: l.Hash, size: l.Size, mtime: l.ModTime}
	if l.Link != nil {
		s.link = string(*l.Link)
	}
	return s
}

// after is the path's state afterwards.
func (l *line) after() state {
	switch workspace.Kind(l.Op) {
	case workspace.Delete:
		return state{}
	case workspace.Mkdir:
		return state{exists: true, mode: fs.ModeDir}
	}
	return state{exists: true, mode: l.NewMode.Type(), hash: l.NewHash, size: l.newSize, mtime: l.newTime}
}

// moved returns the state of a renamed file.
func (l *line) moved() state {
	return state{exists: true, mode: l.Mode, hash: l.NewHash, size: l.Size, mtime: l.ModTime}
}

// entry is a path in the plan: its state before the next operation, and the wanted one. link is set if it was
// found to be a symlink.
type entry struct {
	base, want state
	link       bool
}

type move struct{ from, to string }

// view is the planned workspace.
type view struct {
	ctx     context.Context
	ws      *workspace.Workspace
	entries map[string]*entry
	moves   []move
	links   map[string]bool // directories reached through a symlink now
}

func (v *view) at(path string) (*entry, error) {
	if e := v.entries[path]; e != nil {
		return e, nil
	}
	real, ok := v.real(path)
	e := &entry{}
	if ok && !v.unlinked(path) {
		s, err := v.readState(real)
		if err != nil {
			return nil, err
		}
		e = &entry{base: s, want: s, link: s.isLink()}
	}
	v.entries[path] = e
	return e, nil
}

// unlinked reports whether a directory of the path is a symlink to be removed.
func (v *view) unlinked(path string) bool {
	for dir := filepath.Dir(path); dir != "." && dir != "/"; dir = filepath.Dir(dir) {
		if e := v.entries[dir]; e != nil && e.link && !e.want.isLink() {
			return true
		}
	}
	return false
}

// real returns the present path of what will be at path.
func (v *view) real(path string) (string, bool) {
	for i := len(v.moves) - 1; i >= 0; i-- {
		m := v.moves[i]
		if rest, ok := within(path, m.to); ok {
			path = m.from + rest
		} else if _, ok := within(path, m.from); ok {
			return "", false
		}
	}
	return path, true
}

// within returns what follows dir in path.
func within(path, dir string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, dir)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// move notes a rename; entries already read move along.
func (v *view) move(from, to string) {
	v.moves = append(v.moves, move{from, to})
	moved := make(map[string]*entry)
	for path, e := range v.entries {
		if rest, ok := within(path, from); ok {
			moved[to+rest] = e
			delete(v.entries, path)
		}
	}
	for path := range v.entries {
		if _, ok := within(path, to); ok {
			delete(v.entries, path) // it was missing
		}
	}
	for path, e := range moved {
		v.entries[path] = e
	}
}

// setAside is move for a non-directory: what is wanted below it stays.
func (v *view) setAside(from, to string) {
	v.moves = append(v.moves, move{from, to})
	v.entries[to], v.entries[from] = v.entries[from], &entry{}
}

// linked reports whether the directory of a path is a symlink now, or is reached through one: the files behind
// it have another path.
func (v *view) linked(path string) bool {
	dir := filepath.Dir(path)
	if dir == "." || dir == "/" {
		return false
	}
	linked, known := v.links[dir]
	if !known {
		_ = v.ws.Unlocked(filepath.Dir(dir), func() error {
			info, err := v.ws.Lstat(dir)
			linked = err == nil && info.Mode()&fs.ModeSymlink != 0
			return err
		})
		linked = linked || v.linked(dir)
		v.links[dir] = linked
	}
	return linked
}

func (v *view) readState(path string) (s state, err error) {
	var info fs.FileInfo
	err = v.ws.Unlocked(filepath.Dir(path), func() (err error) {
		info, err = v.ws.Lstat(path)
		return err
	})
	if code := tool.CodeOf(err); code == tool.NotFound || code == tool.NotADirectory {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	s = state{exists: true, mode: info.Mode(), size: info.Size(), mtime: info.ModTime(), info: info}
	linked := false
	err = v.ws.Unlocked(path, func() (err error) {
		switch linked = v.linked(path); {
		case linked:
		case s.regular() && s.size > workspace.DefaultReadLimit: // size and time must do
		case s.regular():
			s.hash, err = v.hash(path)
		case s.isLink():
			s.link, err = v.ws.Readlink(path)
			s.hash = workspace.Hash([]byte(s.link))
		}
		return err
	})
	if linked {
		return state{}, nil
	}
	return s, err
}

func (v *view) hash(path string) (string, error) {
	f, err := v.ws.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, &reader{v.ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	f   *os.File
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.f.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = tool.Errorf(tool.Unavailable, "cannot read %s: %w", r.f.Name(),
			err).Suggest("Look at the file, then try again.")
	}
	return n, err
}

// realFile returns the present path of the file that was to be seen at path when it was read: it may have been
// moved since.
func (v *view) realFile(path string, info fs.FileInfo) (string, bool) {
	for i := len(v.moves); i >= 0; i-- {
		past := view{moves: v.moves[:i]}
		real, ok := past.real(path)
		if !ok {
			continue
		}
		if now, err := v.ws.Lstat(real); err == nil && os.SameFile(now, info) {
			return real, true
		}
	}
	return "", false
}
