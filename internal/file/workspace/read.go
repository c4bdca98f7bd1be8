package workspace

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/plainfile"
)

// DefaultReadLimit is how many bytes ReadFile and Update read at most.
const DefaultReadLimit = 64 << 20

// Open opens a regular file for reading. It never blocks on a pipe, socket or device. Errors: not_found,
// is_directory, unsupported for those, path_outside_workspace, permission_denied.
func (w *Workspace) Open(path string) (*os.File, error) {
	f, _, err := w.open(path)
	return f, err
}

func (w *Workspace) open(path string) (*os.File, fs.FileInfo, error) {
	if w.symlinks == Inside {
		if f, info, ok := w.openDirectly(path); ok {
			return f, info, nil
		}
	}
	for range maxRaces {
		p, err := w.locate(path, true)
		if err != nil {
			return nil, nil, err
		}
		f, info, err := p.openFile()
		p.close()
		if err == nil || !errors.Is(err, errRaced) {
			return f, info, w.fail("read", path, err)
		}
	}
	return nil, nil, changing(path)
}

// openDirectly is the fast path for names that os.Root resolves by itself. It gives up on anything unusual.
func (w *Workspace) openDirectly(path string) (*os.File, fs.FileInfo, bool) {
	t, rel, err := w.lexical(path)
	if err != nil || len(w.hidden) > 0 {
		return nil, nil, false
	}
	f, err := t.root.OpenFile(rel, openFlags, 0)
	if err != nil {
		return nil, nil, false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, nil, false
	}
	return f, info, true
}

// openFile opens the regular file at the place, and fails with errRaced if it is no longer the one found.
func (p *resolvedPath) openFile() (*os.File, fs.FileInfo, error) {
	if err := p.regular(); err != nil {
		return nil, nil, err
	}
	f, err := p.dir.OpenFile(p.name, openFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errRaced
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	if !os.SameFile(info, p.info) {
		f.Close()
		return nil, nil, errRaced
	}
	return f, info, nil
}

func (p *resolvedPath) regular() error {
	switch {
	case p.missing():
		return p.notThere()
	case p.info.IsDir():
		return isDirectory(p.given)
	case !p.info.Mode().IsRegular():
		return special(p.given, p.info.Mode())
	}
	return nil
}

// ReadFile reads a whole regular file of at most limit bytes; limit <= 0 means
// DefaultReadLimit. Errors are those of Open, and too_large.
func (w *Workspace) ReadFile(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := w.open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := readAll(f, info.Size(), path, limit)
	if err != nil {
		return nil, nil, w.fail("read", path, err)
	}
	return data, info, nil
}

func readAll(f io.Reader, size int64, path string, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = DefaultReadLimit
	}
	if size > limit {
		return nil, tooLarge(path, size, limit)
	}
	data := make([]byte, 0, size+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		case int64(len(data)) > limit:
			return nil, tooLarge(path, int64(len(data)), limit)
		case int64(len(data)) == size && len(data) == n:
			return data, nil // there was room for more
		}
		if len(data) == cap(data) {
			data = slices.Grow(data, 1)
		}
	}
}

func tooLarge(path string, size, limit int64) *tool.Error {
	return tool.Errorf(tool.TooLarge, "%s has %d bytes, more than the limit of %d", path, size, limit).
		Suggest("Read a part of it, or search in it.").
		With("path", path).With("size", size).With("limit", limit)
}

// Stat describes the file at path, following symlinks. Errors: not_found, path_outside_workspace,
// permission_denied, blocked.
func (w *Workspace) Stat(path string) (fs.FileInfo, error) { return w.stat(path, true) }

// Lstat is Stat without following the last component.
func (w *Workspace) Lstat(path string) (fs.FileInfo, error) { return w.stat(path, false) }

func (w *Workspace) stat(path string, follow bool) (fs.FileInfo, error) {
	p, err := w.locate(path, follow)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if p.missing() {
		return nil, notFound(path)
	}
	return p.info, nil
}

// ReadDir lists a directory, sorted by name, without temporary files of writes
// in progress. Errors: not_found, not_a_directory, path_outside_workspace,
// permission_denied.
func (w *Workspace) ReadDir(dir string) ([]fs.DirEntry, error) {
	root, rel, t, err := w.openDir(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	items, err := readNames(root, 0)
	if err != nil {
		return nil, w.fail("list", dir, err)
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.name, b.name) })
	entries := make([]fs.DirEntry, len(items))
	for i, e := range items {
		entries[i] = &dirEntry{w: w, path: t.join(path.Join(rel, e.name)), item: e}
	}
	return entries, nil
}

func (w *Workspace) openDir(dir string) (*os.Root, string, *tree, error) {
	for range maxRaces {
		p, err := w.locate(dir, true)
		if err != nil {
			return nil, "", nil, err
		}
		root, err := p.openRoot()
		p.close()
		if err == nil {
			return root, p.rel, p.tree, nil
		}
		if !errors.Is(err, errRaced) {
			return nil, "", nil, w.fail("list", dir, err)
		}
	}
	return nil, "", nil, changing(dir)
}

func (p *resolvedPath) openRoot() (*os.Root, error) {
	if p.missing() {
		return nil, p.notThere()
	}
	if !p.info.IsDir() {
		return nil, notDirectory(p.given)
	}
	root, err := plainfile.In(p.dir, p.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errRaced
	}
	if err != nil {
		return nil, err
	}
	if info, err := root.Stat("."); err != nil || !os.SameFile(info, p.info) {
		root.Close()
		return nil, errRaced
	}
	return root, nil
}

type item struct {
	name string
	mode fs.FileMode
}

// readNames lists a directory, unsorted and without temporary files; it stops soon after limit entries (0: none).
func readNames(dir *os.Root, limit int) ([]item, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	items, err := list(f, limit)
	if err != nil {
		return nil, err
	}
	items = slices.DeleteFunc(items, func(i item) bool { return isTemp(i.name) })
	for i, e := range items {
		if e.mode&fs.ModeIrregular == 0 {
			continue
		}
		if info, err := dir.Lstat(e.name); err == nil {
			items[i].mode = info.Mode().Type()
		}
	}
	return items, nil
}

// dirEntry is an entry whose details are looked up through the workspace.
type dirEntry struct {
	item
	w    *Workspace
	path string
}

func (e *dirEntry) Name() string               { return e.name }
func (e *dirEntry) IsDir() bool                { return e.mode.IsDir() }
func (e *dirEntry) Type() fs.FileMode          { return e.mode }
func (e *dirEntry) Info() (fs.FileInfo, error) { return e.w.Lstat(e.path) }
func (e *dirEntry) String() string             { return fs.FormatDirEntry(e) }

// Unlocked runs look, which reads at path. If permissions forbid that, it runs look again with the modes of path
// and of the user's own directories above opened to their owner meanwhile.
func (w *Workspace) Unlocked(path string, look func() error) error {
	t, rel, err := w.lexical(path)
	if err != nil {
		return look()
	}
	return plainfile.Unlocked(t.root, rel, look)
}
