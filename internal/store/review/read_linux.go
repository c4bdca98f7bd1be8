package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/view"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// Limits of one view: its paths, and its files' content, sparse or not, since all of it is read.
const (
	MostChanges = 50_000
	mostOfView  = 4 << 30
)

// Read reads the changes in a view whose processes have ended. root is the workspace.
func Read(ctx context.Context, v *view.View, root string) (*Changes, error) {
	changes := new(Changes)
	for _, layer := range v.Layers() {
		lower, err := os.OpenRoot(layer.Tree)
		if err != nil {
			return nil, unreadable(layer.Tree, err)
		}
		r := &reader{ctx: ctx, root: root, layer: layer, lower: lower, began: v.StartedAt(), found: changes}
		r.originals, err = layer.Originals()
		if err == nil {
			on := merged
			if r.originals != nil {
				on = copied
			}
			err = r.directory(".", on)
		}
		_ = lower.Close()
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(changes.List, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(changes.NotKept)
	return changes, nil
}

type reader struct {
	ctx   context.Context
	root  string
	layer view.Layer
	lower *os.Root
	began time.Time
	bytes int64 // of the files so far
	found *Changes

	originals *view.Originals // of a copy
}

// lowerKind is what a directory of the upper layer covers.
type lowerKind byte

const (
	nothing lowerKind = iota // or no directory
	hidden                   // a directory that does not show through
	merged                   // a directory that shows through
	copied                   // a directory that was copied to the upper one
)

func (r *reader) directory(name string, on lowerKind) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	path := filepath.Join(r.layer.Upper, name)
	entries, err := readable(path, os.ReadDir)
	if err != nil {
		return unreadable(path, err)
	}
	above := make(map[string]bool, len(entries))
	for _, entry := range entries {
		above[entry.Name()] = true
		if err := r.entry(filepath.Join(name, entry.Name()), on); err != nil {
			return err
		}
	}
	var covered []string // names of the directory that the upper layer may have removed without listing them
	switch on {
	case hidden:
		covered = r.namesBelow(name)
	case copied:
		covered = r.originals.Below(name)
	}
	for _, other := range covered {
		if !above[other] {
			if err := r.gone(filepath.Join(name, other)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) entry(name string, on lowerKind) error {
	path := filepath.Join(r.layer.Upper, name)
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return unreadable(path, err)
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFCHR && stat.Rdev == 0 {
		return r.gone(name)
	}
	if on == copied && r.originals.Unchanged(name, &stat) {
		if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			return r.directory(name, copied)
		}
		return nil
	}
	var was snapshot
	if on != nothing {
		var err error
		if was, err = r.stat(name); err != nil {
			return err
		}
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFREG {
		if r.bytes += stat.Size; r.bytes > mostOfView {
			return tool.Errorf(tool.TooLarge, "the call writes more than %d bytes, which no view keeps",
				int64(mostOfView)).
				Suggest("Nothing was changed. Let it write less in one call.")
		}
	}
	is, err := stateAt(path, func() (io.ReadCloser, error) { return readable(path, open) })
	if err != nil {
		return unreadable(path, err)
	}
	if is.Mode&undo.SpecialTypes != 0 {
		r.found.NotKept = append(r.found.NotKept, r.name(name))
		return nil
	}
	if !was.Exists && has(path, view.Origin) {
		info, err := r.lower.Lstat(filepath.Dir(name))
		was.raced = err == nil && r.since(info) // what it is a copy of may be gone
	}
	was.raced = was.raced && !is.Mode.IsDir()
	if err := r.add(name, was, is); err != nil {
		return err
	}
	if was.Exists && was.Mode.IsDir() && !is.Mode.IsDir() {
		return r.goneBelow(name)
	}
	if !is.Mode.IsDir() {
		return nil
	}
	switch {
	case !was.Mode.IsDir():
		return r.directory(name, nothing)
	case on == copied && r.originals.Same(name, &stat):
		return r.directory(name, copied)
	case on == copied, on == hidden, has(path, view.Opaque):
		return r.directory(name, hidden)
	}
	return r.directory(name, merged)
}

func has(path, attribute string) bool {
	_, err := unix.Lgetxattr(path, attribute, nil)
	return err == nil
}

func (r *reader) gone(name string) error {
	was, err := r.stat(name)
	if err != nil || !was.Exists {
		return err
	}
	was.raced = was.raced && !was.Mode.IsDir()
	if err := r.add(name, was, undo.State{}); err != nil {
		return err
	}
	if was.Mode.IsDir() {
		return r.goneBelow(name)
	}
	return nil
}

func (r *reader) goneBelow(name string) error {
	for _, other := range r.namesBelow(name) {
		if err := r.gone(filepath.Join(name, other)); err != nil {
			return err
		}
	}
	return nil
}

// namesBelow returns the names in a directory of the lower tree.
func (r *reader) namesBelow(name string) []string {
	dir, err := r.lower.Open(name)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	slices.Sort(names)
	return names
}

// snapshot is the lower tree's state of a name.
type snapshot struct {
	undo.State
	info  fs.FileInfo // before the content was read; nil for nothing
	raced bool        // changed since the view was made
}

func (r *reader) stat(name string) (was snapshot, err error) {
	was.info, err = r.lower.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return snapshot{}, nil
	}
	if err != nil {
		return was, unreadable(r.name(name), err)
	}
	was.State, err = state(was.info, func() (io.ReadCloser, error) { return r.lower.Open(name) },
		func() (string, error) { return r.lower.Readlink(name) })
	if err != nil {
		return was, unreadable(r.name(name), err)
	}
	was.raced = r.since(was.info)
	return was, nil
}

// untouched reports whether a name of a tree still is what was seen, by all that the system says of it, with no
// symlink on the way.
func (s *snapshot) untouched(tree, name string, dirs dirCache) bool {
	var now unix.Stat_t
	err := unix.Lstat(filepath.Join(tree, name), &now)
	if s.info == nil {
		return errors.Is(err, unix.ENOENT)
	}
	was, ok := s.info.Sys().(*syscall.Stat_t)
	return err == nil && ok && now.Dev == was.Dev && now.Ino == was.Ino && now.Mode == was.Mode &&
		now.Size == was.Size && unix.TimespecToNsec(now.Mtim) == syscall.TimespecToNsec(was.Mtim) &&
		unix.TimespecToNsec(now.Ctim) == syscall.TimespecToNsec(was.Ctim) && dirs.lead(tree, filepath.Dir(name))
}

// lead reports whether a directory of a tree exists without a symlink on the way.
func (s dirCache) lead(tree, dir string) bool {
	path := filepath.Join(tree, dir)
	if dir == "." || s[path] {
		return true
	}
	var now unix.Stat_t
	s[path] = unix.Lstat(path, &now) == nil && now.Mode&unix.S_IFMT == unix.S_IFDIR && s.lead(tree, filepath.Dir(dir))
	return s[path]
}

// since reports whether a file changed since the view was made.
func (r *reader) since(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && time.Unix(stat.Ctim.Unix()).After(r.began)
}

// name returns the undo store's name for a name of the layer.
func (r *reader) name(name string) string {
	path := filepath.Join(r.layer.Tree, name)
	if rest, ok := strings.CutPrefix(path, r.root+"/"); ok {
		return rest
	}
	return path
}

func (r *reader) add(name string, was snapshot, is undo.State) error {
	path := r.name(name)
	if was.Same(is) || undo.OwnFile(path) {
		return nil
	}
	if len(r.found.List) >= MostChanges {
		return tool.Errorf(tool.TooLarge, "the call changes more than %d paths, which no view keeps", MostChanges).
			Suggest("Nothing was changed. Let it do less in one call.")
	}
	upper := filepath.Join(r.layer.Upper, name)
	tree, below := r.layer.Tree, name
	r.found.List = append(r.found.List, Change{Path: path, Before: was.State, After: is, Raced: was.raced,
		Linked:    r.linked(name, was, is),
		old:       func() ([]byte, error) { return contentBelow(tree, below, was.State) },
		new:       func() ([]byte, error) { return contentAt(upper, is) },
		now:       func() (undo.State, error) { return stateBelow(tree, below) },
		untouched: func(dirs dirCache) bool { return was.untouched(tree, below, dirs) }})
	return nil
}

// linked reports whether a file has further names, before or now.
func (r *reader) linked(name string, was snapshot, is undo.State) bool {
	if !is.Mode.IsRegular() || !is.Exists {
		return false
	}
	var now unix.Stat_t
	if unix.Lstat(filepath.Join(r.layer.Upper, name), &now) == nil && now.Nlink > 1 {
		return true
	}
	if !was.Exists || !was.Mode.IsRegular() {
		return false
	}
	before, ok := was.info.Sys().(*syscall.Stat_t)
	return ok && before.Nlink > 1
}

// stateBelow returns the state of a name of a tree. Behind a symlink on the way nothing exists.
func stateBelow(tree, name string) (undo.State, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return undo.State{}, err
	}
	defer root.Close()
	for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			return undo.State{}, nil
		}
	}
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return undo.State{}, nil
	}
	if err != nil {
		return undo.State{}, err
	}
	return state(info, func() (io.ReadCloser, error) { return root.Open(name) },
		func() (string, error) { return root.Readlink(name) })
}

func contentBelow(tree, name string, s undo.State) ([]byte, error) {
	root, err := os.OpenRoot(tree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if s.Mode&fs.ModeSymlink != 0 {
		target, err := root.Readlink(name)
		return []byte(target), err
	}
	data, err := root.ReadFile(name)
	return same(data, s, err)
}

func contentAt(path string, s undo.State) ([]byte, error) {
	if s.Mode&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return []byte(target), err
	}
	data, err := readable(path, os.ReadFile)
	return same(data, s, err)
}

// same refuses a content other than the examined one.
func same(data []byte, s undo.State, err error) ([]byte, error) {
	if err == nil && workspace.Hash(data) != s.Hash {
		err = fmt.Errorf("it has changed meanwhile")
	}
	return data, err
}

func stateAt(path string, open func() (io.ReadCloser, error)) (undo.State, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return undo.State{}, err
	}
	return state(info, open, func() (string, error) { return os.Readlink(path) })
}

func state(info fs.FileInfo, open func() (io.ReadCloser, error), link func() (string, error)) (undo.State, error) {
	s := undo.State{Exists: true, Mode: info.Mode() & (fs.ModeType | fs.ModePerm), Size: info.Size(),
		ModTime: info.ModTime()}
	switch {
	case s.Mode&fs.ModeSymlink != 0:
		target, err := link()
		s.Hash, s.Size = workspace.Hash([]byte(target)), int64(len(target))
		return s, err
	case s.Mode.IsRegular():
		file, err := open()
		if err != nil {
			return s, err
		}
		defer file.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, file); err != nil {
			return s, err
		}
		s.Hash = hex.EncodeToString(sum.Sum(nil))
	case s.Mode.IsDir():
		s.Size = 0
	}
	return s, nil
}

func open(path string) (io.ReadCloser, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// readable reads a file of ours that its mode may forbid to its owner.
func readable[T any](path string, read func(string) (T, error)) (T, error) {
	value, err := read(path)
	if !errors.Is(err, fs.ErrPermission) {
		return value, err
	}
	info, failed := os.Lstat(path)
	if failed != nil || info.Mode()&fs.ModeSymlink != 0 || os.Chmod(path, info.Mode().Perm()|0o700) != nil {
		return value, err
	}
	defer func() { _ = os.Chmod(path, info.Mode().Perm()) }()
	return read(path)
}
