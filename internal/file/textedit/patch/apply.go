package patch

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
)

// ReadFunc returns the content and mode of a file. For a missing file the error is fs.ErrNotExist or has the code
// not_found or not_a_directory; any other error ends Apply.
type ReadFunc func(path string) (data []byte, mode fs.FileMode, err error)

// Apply applies a set to the files that read returns and returns the changes, sorted by path. read is called at
// most once for each path that is read, created or removed, so that it can refuse some. If any part does not
// apply, nothing is returned.
//
// Consecutive sections on one path build on each other. A rename or copy starts from the file before the patch, as
// in git.
//
// Errors are a *HunkError, a *tool.Error of code not_found, already_exists or unsupported, and those of read.
func Apply(set *Set, read ReadFunc) ([]FileChange, error) {
	a := &applier{read: read, files: map[string]*state{}, vacated: map[string]bool{}, filled: map[string]bool{}}
	a.survey(set)
	for _, f := range set.Files {
		if err := a.apply(f); err != nil {
			return nil, err
		}
	}
	return a.changes(), nil
}

type state struct {
	path    string
	existed bool
	before  []byte
	oldMode fs.FileMode

	exists  bool
	data    []byte
	mode    fs.FileMode
	touched bool
	kind    Kind
	from    *state
	placed  []Placement
}

// applier applies a set section by section to states in memory.
type applier struct {
	read  ReadFunc
	files map[string]*state
	// vacated are the paths that the set renames or deletes, filled those that it renames, copies or creates to.
	vacated, filled map[string]bool
}

func (a *applier) survey(set *Set) {
	for _, f := range set.Files {
		switch f.Kind {
		case Rename:
			a.vacated[f.OldName], a.filled[f.NewName] = true, true
		case Copy:
			a.filled[f.NewName] = true
		case Delete:
			for _, path := range f.sources() {
				a.vacated[path] = true
			}
		}
	}
}

// loadState returns the state of a path, and reads it the first time.
func (a *applier) loadState(path string) (*state, error) {
	if s := a.files[path]; s != nil {
		return s, nil
	}
	s := &state{path: path}
	data, mode, err := a.read(path)
	switch {
	case err == nil:
		s.existed, s.before, s.oldMode = true, data, mode.Perm()
		s.exists, s.data, s.mode = true, data, s.oldMode
	case !errors.Is(err, fs.ErrNotExist) && tool.CodeOf(err) != tool.NotFound && tool.CodeOf(err) != tool.NotADirectory:
		return nil, err
	}
	a.files[path] = s
	return s, nil
}

func (a *applier) apply(f *File) error {
	if f.special {
		return tool.Errorf(tool.Unsupported, "line %d of the patch is about a symbolic link or a submodule", f.Line).
			Suggest("Leave it out of the patch. Nothing was changed.")
	}
	switch f.Kind {
	case Create:
		return a.create(f)
	case Rename, Copy:
		return a.move(f)
	default:
		return a.modify(f)
	}
}

// modify changes or deletes the first of the possible files that exists and fits.
func (a *applier) modify(f *File) error {
	var failed error
	for _, path := range f.sources() {
		s, err := a.loadState(path)
		if err != nil {
			return err
		}
		if !s.exists {
			continue
		}
		err = a.change(f, s)
		if err == nil {
			return nil
		}
		if failed == nil {
			failed = err
		}
	}
	switch {
	case failed != nil:
		return failed
	case f.Kind == Modify && len(f.Hunks) == 1 && f.Hunks[0].OldStart == 0 && len(f.Hunks[0].pick('-')) == 0:
		return a.create(f)
	default:
		return missing(f.sources()[0], f)
	}
}

func (a *applier) change(f *File, s *state) error {
	data, placed, err := applyHunks(s.path, s.data, f.Hunks)
	if err != nil {
		return err
	}
	if f.Kind == Delete {
		if len(data) > 0 {
			return undeletable(s, f, data)
		}
		s.remove()
		return nil
	}
	s.setContent(Modify, data, placed)
	s.setMode(f)
	return nil
}

// undeletable returns the error for a file with more lines than the patch removes.
func undeletable(s *state, f *File, rest []byte) error {
	e := &HunkError{Path: s.path, Hunk: max(len(f.Hunks), 1), PatchLine: f.Line, FileLine: 1,
		Found: bare(fileLines(rest))}
	for _, h := range f.Hunks {
		e.PatchLine = h.Line
	}
	return e.because("line %d of the patch deletes %s, but not all of its lines", f.Line, s.path)
}

func (a *applier) create(f *File) error {
	path := f.sources()[0]
	s, err := a.loadState(path)
	if err != nil {
		return err
	}
	if s.exists && len(s.data) > 0 {
		return existing(path, f)
	}
	data, placed, err := applyHunks(path, nil, f.Hunks)
	if err != nil {
		return err
	}
	s.setContent(Create, data, placed)
	s.setMode(f)
	return nil
}

// move renames or copies, and applies the section's changes.
func (a *applier) move(f *File) error {
	from, err := a.loadState(f.OldName)
	if err != nil {
		return err
	}
	to, err := a.loadState(f.NewName)
	if err != nil {
		return err
	}
	if to.exists && to != from && !(a.vacated[to.path] && !to.touched) {
		return existing(to.path, f)
	}
	data, mode, placed, err := from.moved(f)
	if err != nil {
		return err
	}
	to.from = from
	to.setContent(f.Kind, data, placed)
	to.mode = mode
	to.setMode(f)
	if f.Kind == Rename && from != to && !(a.filled[from.path] && from.touched) {
		from.remove()
	}
	return nil
}

// moved returns the result of a rename or copy: of the file before the patch or, if missing or not fitting, of the
// present one.
func (s *state) moved(f *File) (data []byte, mode fs.FileMode, placed []Placement, err error) {
	if !s.existed && !s.exists {
		return nil, 0, nil, missing(s.path, f)
	}
	renamedAfterEdit := f.Kind == Rename && s.exists && s.touched && s.from == nil
	if s.existed && !renamedAfterEdit {
		data, placed, err = applyHunks(s.path, s.before, f.Hunks)
		if err == nil || !s.exists || !s.touched {
			return data, s.oldMode, placed, err
		}
	}
	data, placed, err = applyHunks(s.path, s.data, f.Hunks)
	return data, s.mode, placed, err
}

func (s *state) setContent(kind Kind, data []byte, placed []Placement) {
	if !s.touched || kind != Modify {
		s.kind = kind
	}
	if kind == Create {
		s.from = nil
	}
	s.exists, s.touched, s.data = true, true, data
	s.placed = append(s.placed, placed...)
}

func (s *state) remove() {
	s.exists, s.touched, s.data, s.from, s.kind = false, true, nil, nil, Delete
}

// setMode applies the patch's executable bit for all who may read.
func (s *state) setMode(f *File) {
	switch {
	case f.Executable == nil:
	case s.mode == 0 && *f.Executable:
		s.mode = 0o755
	case s.mode == 0:
		s.mode = 0o644
	case *f.Executable:
		s.mode |= s.mode & 0o444 >> 2
	default:
		s.mode &^= 0o111
	}
}

func (a *applier) changes() []FileChange {
	list := make([]FileChange, 0, len(a.files))
	renamed := map[*state]bool{}
	for _, path := range slices.Sorted(maps.Keys(a.files)) {
		s := a.files[path]
		if c, ok := s.change(renamed); ok {
			list = append(list, c)
		}
	}
	return slices.DeleteFunc(list, func(c FileChange) bool { return c.Kind == Delete && renamed[a.files[c.Path]] })
}

// change returns the file's change. A renamed file is marked, so that it is not also reported as
// deleted.
func (s *state) change(renamed map[*state]bool) (FileChange, bool) {
	c := FileChange{Path: s.path, Old: s.before, Data: s.data, Placed: s.placed}
	if s.mode != s.oldMode {
		c.Mode = s.mode
	}
	switch {
	case !s.touched || !s.existed && !s.exists:
		return c, false
	case !s.exists:
		c.Kind, c.Data, c.Mode = Delete, nil, 0
	case s.existed:
		c.Kind = Modify
		if s.from != nil {
			c.From = s.from.path
		}
		if string(s.before) == string(s.data) && c.Mode == 0 {
			return c, false
		}
	case s.from != nil && s.kind == Rename && s.from.existed && !s.from.exists && !renamed[s.from]:
		renamed[s.from] = true
		c.Kind, c.From, c.Old = Rename, s.from.path, s.from.before
		if s.mode == s.from.oldMode {
			c.Mode = 0
		}
	case s.from != nil && s.from.existed:
		c.Kind, c.From, c.Old = Copy, s.from.path, s.from.before
	default:
		c.Kind, c.Old = Create, nil
	}
	return c, true
}
