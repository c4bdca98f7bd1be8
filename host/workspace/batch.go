package workspace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
)

// Change is one change of a Batch.
type Change struct {
	Kind Kind // Create, Replace, Delete, Rename or Chmod
	Path string
	// To is the new path of a Rename.
	To string
	// Data is the new content, for Create and Replace. For Rename nil keeps
	// the old content.
	Data []byte
	// Mode is the new mode, permission bits only. Zero keeps the old one, or
	// for Create means 0644. A created file's mode is subject to the umask.
	Mode fs.FileMode
	// Expect is the Hash that the old content has to have. Empty means any.
	Expect string
}

// Hash is the content hash that Change.Expect compares: SHA-256 in hex.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Batch makes all changes or none. Everything is checked and written to
// temporary files first, then put in place while all directories are locked;
// when one fails, those before are taken back. Missing parent directories are
// made. The changes are made at once, not one after the other: two renames
// may swap two files, but one path cannot be written twice.
//
// A kill leaves every single file whole, the old or the new one, but may come
// between two files. Errors are those of WriteFile, Remove and Rename, and
// conflict when an old content is not the expected one.
func (w *Workspace) Batch(ctx context.Context, changes []Change) (err error) {
	if len(changes) == 0 {
		return nil
	}
	view := w.WithContext(ctx)
	var made []string
	defer func() {
		if err != nil {
			view.removeDirs(made)
		}
	}()
	paths, access, err := batchPaths(changes)
	if err != nil {
		return err
	}
	for i, path := range paths {
		if access[i] == Write {
			dirs, err := view.parentsOf(path)
			made = append(made, dirs...)
			if err != nil {
				return err
			}
		}
	}
	helds, err := view.holdAll(paths, access)
	if err != nil {
		return err
	}
	defer closeAll(helds)
	b := &batch{w: view, byPath: make(map[string]*batchStep)}
	if err := b.plan(changes, helds); err != nil {
		return err
	}
	return b.run(ctx)
}

func batchPaths(changes []Change) (paths []string, access []Access, err error) {
	for _, c := range changes {
		switch c.Kind {
		case Create, Replace, Chmod:
			paths, access = append(paths, c.Path), append(access, Write)
		case Delete:
			paths, access = append(paths, c.Path), append(access, Remove)
		case Rename:
			paths, access = append(paths, c.Path, c.To), append(access, Remove, Write)
		default:
			return nil, nil, tool.Errorf(tool.InvalidArgument, "a batch cannot %s %s", c.Kind, c.Path).
				Suggest("Use create, replace, delete, rename or chmod.")
		}
	}
	return paths, access, nil
}

// batch is the final state that a list of changes asks for.
type batch struct {
	w      *Workspace
	steps  []*batchStep
	byPath map[string]*batchStep
}

// batchStep is what is to become of one path.
type batchStep struct {
	*held
	put    bool // there will be a file
	drop   bool // what is there goes
	fresh  bool // nothing may be there, unless it goes
	data   []byte
	like   fs.FileInfo // whose owner the new file gets; nil for a new one
	mode   fs.FileMode
	temp   string
	backup string
	done   bool
}

func (b *batch) plan(changes []Change, helds []*held) error {
	for _, c := range changes {
		n := 1
		if c.Kind == Rename {
			n = 2
		}
		if err := b.add(c, helds[:n]); err != nil {
			return b.w.fail(string(c.Kind), c.Path, err)
		}
		helds = helds[n:]
	}
	for _, s := range b.steps {
		if s.fresh && !s.missing() && !s.drop {
			return exists(s.given)
		}
	}
	return nil
}

func (b *batch) add(c Change, helds []*held) error {
	h := helds[0]
	if c.Kind == Create {
		mode := c.Mode
		if mode == 0 {
			mode = newMode
		}
		return b.step(&batchStep{held: h, put: true, fresh: true, data: c.Data, mode: mode})
	}
	old, err := b.old(c, h)
	if err != nil {
		return err
	}
	mode := c.Mode
	if mode == 0 {
		mode = h.info.Mode()
	}
	switch c.Kind {
	case Replace:
		return b.step(&batchStep{held: h, put: true, data: c.Data, mode: mode, like: h.info})
	case Chmod:
		return b.step(&batchStep{held: h, put: true, data: old, mode: mode, like: h.info})
	case Delete:
		return b.step(&batchStep{held: h, drop: true})
	}
	data := c.Data
	if data == nil {
		data = old
	}
	if err := b.step(&batchStep{held: h, drop: true}); err != nil {
		return err
	}
	return b.step(&batchStep{held: helds[1], put: true, fresh: true, data: data, mode: mode, like: h.info})
}

// old gives the present content of what c changes, and refuses what it cannot
// change.
func (b *batch) old(c Change, h *held) ([]byte, error) {
	if c.Kind == Delete && !h.missing() && h.info.Mode()&fs.ModeSymlink != 0 {
		return nil, nil
	}
	if err := h.regular(); err != nil {
		return nil, err
	}
	if c.Kind == Replace {
		if err := h.writable(false); err != nil {
			return nil, err
		}
	}
	if c.Expect == "" && (c.Kind == Replace || c.Kind == Delete) {
		return nil, nil
	}
	data, _, err := h.readOld()
	if err == nil && c.Expect != "" && Hash(data) != c.Expect {
		err = changing(c.Path)
	}
	return data, err
}

// step adds s, or joins it with the one for the same path.
func (b *batch) step(s *batchStep) error {
	other := b.byPath[s.path()]
	if other == nil {
		b.byPath[s.path()] = s
		b.steps = append(b.steps, s)
		return nil
	}
	if s.put == other.put || s.drop == other.drop {
		return tool.Errorf(tool.InvalidArgument, "%s is changed twice in one batch", s.given).
			Suggest("Join the changes of a file into one.").With("path", s.given)
	}
	if s.put {
		other.data, other.mode, other.like, other.fresh = s.data, s.mode, s.like, s.fresh
	}
	other.put, other.drop = true, true
	return nil
}

func (b *batch) run(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			b.rollBack()
		}
		b.tidy()
	}()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	for _, s := range b.steps {
		if err := b.w.record(s.kind(), s.place, b.after(s)); err != nil {
			return err
		}
	}
	// Files come before they go, so that a kill rather leaves one twice.
	for _, put := range []bool{true, false} {
		for _, s := range b.steps {
			if s.put != put {
				continue
			}
			if err := s.apply(); err != nil {
				return b.w.fail("write", s.given, err)
			}
		}
	}
	return nil
}

// preparers is how many files are written at a time. Each waits for the disk,
// which can serve many in one go.
const preparers = 32

// prepare prepares all steps, and gives the error of the first that failed.
func (b *batch) prepare(ctx context.Context) error {
	errs := make([]error, len(b.steps))
	turns := make(chan struct{}, preparers)
	var all sync.WaitGroup
	for i, s := range b.steps {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = s.prepare()
			}
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			return b.w.fail("write", b.steps[i].given, err)
		}
	}
	return nil
}

// after is what the step makes of its place; of a new file the umask has a say
// in the mode.
func (b *batch) after(s *batchStep) after {
	switch {
	case !s.put:
		return after{}
	case s.like == nil:
		return after{hash: b.w.hash(s.data)}
	}
	return after{hash: b.w.hash(s.data), mode: s.mode.Perm()}
}

func (s *batchStep) kind() Kind {
	switch {
	case !s.put:
		return Delete
	case s.missing():
		return Create
	default:
		return Replace
	}
}

// prepare writes the new content beside the file and keeps the old one.
func (s *batchStep) prepare() (err error) {
	if len(s.rest) > 0 {
		return missingParent(s.place)
	}
	if s.put {
		s.temp, err = s.stage(bytes.NewReader(s.data), s.like, s.mode)
	}
	if err == nil && !s.missing() {
		err = s.keep()
	}
	return err
}

// keep gives the old file a second name, or copies it where there are no hard
// links.
func (s *batchStep) keep() error {
	name := tempName()
	err := s.dir.Link(s.name, name)
	if err == nil {
		s.backup = name
		return nil
	}
	if !s.info.Mode().IsRegular() {
		return err
	}
	f, info, err := s.openFile()
	if err != nil {
		return err
	}
	defer f.Close()
	s.backup, err = s.stage(io.Reader(f), info, info.Mode())
	return err
}

// apply puts the step in place, unless somebody else was quicker.
func (s *batchStep) apply() error {
	now, err := s.dir.Lstat(s.name)
	switch {
	case s.missing() && !errors.Is(err, fs.ErrNotExist):
		return exists(s.given)
	case !s.missing() && (err != nil || !os.SameFile(now, s.info) || now.Size() != s.info.Size() || !now.ModTime().Equal(s.info.ModTime())):
		return changing(s.given)
	case s.put:
		err = s.dir.Rename(s.temp, s.name)
	default:
		err = s.dir.Remove(s.name)
	}
	s.done = err == nil
	return err
}

// rollBack takes back what was applied, the last first.
func (b *batch) rollBack() {
	for _, s := range slices.Backward(b.steps) {
		switch {
		case !s.done:
		case s.backup != "":
			_ = s.dir.Rename(s.backup, s.name)
		default:
			_ = s.dir.Remove(s.name)
		}
	}
}

// tidy removes what is left of temporary files.
func (b *batch) tidy() {
	for _, s := range b.steps {
		for _, name := range []string{s.temp, s.backup} {
			if name != "" {
				_ = s.dir.Remove(name)
			}
		}
	}
}
