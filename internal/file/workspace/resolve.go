package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/plainfile"
)

const (
	maxLinks    = 40      // as on Linux
	maxRaces    = 100     // how often a path may change while it is resolved
	maxPathSize = 1 << 16 // bytes; systems allow 4 KiB or 32 KiB
)

var errRaced = errors.New("the path changed while it was resolved")

// resolvedPath is a resolved path: a directory handle and a single name in it.
type resolvedPath struct {
	given string
	tree  *tree
	dir   *os.Root    // the deepest existing directory above the name
	name  string      // in dir; "." for the tree's root
	rel   string      // the real slash path in the tree, including rest
	rest  []string    // components below name if it is missing
	info  fs.FileInfo // of the name, a symlink itself; nil if missing
	open  []*os.Root  // to be closed
	dirs  *openDirs   // the owner of dir if places share it
	data  []byte      // the file's content if it has been read; else nil
}

func (p *resolvedPath) close() {
	for _, dir := range p.open {
		dir.Close()
	}
	p.open = nil
}

func (p *resolvedPath) beside(name string) *resolvedPath {
	q := *p
	q.name, q.rel = name, path.Join(path.Dir(p.rel), name)
	return &q
}

// self opens the place's directory as a file, for what os.Root cannot do.
func (p *resolvedPath) self() (dir *os.File, done func(), err error) {
	if p.dirs != nil {
		dir, err = p.dirs.file(p.dir)
		return dir, func() {}, err
	}
	dir, err = p.dir.Open(".")
	return dir, func() { dir.Close() }, err
}

func (p *resolvedPath) missing() bool { return p.info == nil }

// slashed reports whether the path ends with a slash, as only a directory's may.
func (p *resolvedPath) slashed() bool { return strings.HasSuffix(filepath.ToSlash(p.given), "/") }

func (p *resolvedPath) path() string { return p.tree.path(p.rel) }

func (p *resolvedPath) parent() string {
	depth := len(p.rest) + 1
	parts := strings.Split(p.rel, "/")
	return p.tree.join(strings.Join(parts[:max(0, len(parts)-depth)], "/"))
}

// Rel returns the lexical form of path, without file system access: a clean slash path relative to the
// workspace ("." for the root), or an absolute one in an allowed directory. Errors: path_outside_workspace,
// invalid_argument for a path that is empty, has a NUL byte or is longer than 64 KiB.
func (w *Workspace) Rel(path string) (string, error) {
	t, rel, err := w.lexical(path)
	if err != nil {
		return "", err
	}
	return t.path(rel), nil
}

func (c *core) lexical(name string) (*tree, string, error) {
	switch {
	case name == "":
		return nil, "", tool.Errorf(tool.InvalidArgument, "the path is empty").
			Suggest("Give a path relative to the workspace; . is the workspace itself.")
	case strings.ContainsRune(name, 0):
		return nil, "", tool.Errorf(tool.InvalidArgument, "the path %q contains a NUL byte", name).
			Suggest("Give a path without it.")
	case len(name) > maxPathSize:
		return nil, "", tool.Errorf(tool.InvalidArgument, "the path has %d bytes, which is too long", len(name)).
			Suggest("Use a shorter path.")
	}
	native := filepath.FromSlash(name)
	if filepath.IsAbs(native) {
		t, rel, ok := c.treeOf(filepath.Clean(native))
		if !ok {
			return nil, "", outside(name)
		}
		return t, rel, nil
	}
	native = filepath.Clean(native)
	if filepath.IsLocal(native) {
		return c.trees[0], filepath.ToSlash(native), nil
	}
	if filepath.VolumeName(native) != "" {
		return nil, "", outside(name)
	}
	t, rel, ok := c.treeOf(filepath.Join(c.trees[0].abs, native))
	if !ok || !filepath.IsLocal(filepath.FromSlash(rel)) {
		return nil, "", outside(name)
	}
	return t, rel, nil
}

// locate resolves name; with follow, also a symlink as the last component. The
// caller must close the place.
func (c *core) locate(name string, follow bool) (*resolvedPath, error) {
	return c.locateIn(nil, name, follow)
}

// locateIn is locate with the handles of dirs, which must stay open while the place is used. With nil the place has
// its own.
func (c *core) locateIn(dirs *openDirs, name string, follow bool) (*resolvedPath, error) {
	return c.find(name, finder{follow: follow, shared: dirs})
}

func (c *core) find(name string, how finder) (*resolvedPath, error) {
	t, rel, err := c.lexical(name)
	if err != nil {
		return nil, err
	}
	for range maxRaces {
		f := how
		f.core, f.given, f.tree, f.todo = c, name, t, components(rel)
		p, err := f.run()
		if err == nil && c.Hides(p.tree.join(p.rel)) {
			p.close()
			return nil, hiddenError(name)
		}
		if err == nil {
			return p, nil
		}
		f.release()
		if !errors.Is(err, errRaced) {
			return nil, c.fail("use", name, err)
		}
	}
	return nil, changing(name)
}

func components(rel string) []string {
	if rel == "." || rel == "" {
		return nil
	}
	return strings.Split(rel, "/")
}

// finder walks one path, component by component.
type finder struct {
	*core
	given  string
	follow bool
	guess  bool // does not stat the last component: it is neither missing nor a symlink
	tree   *tree
	done   []string   // real names, from the tree's root
	dirs   []*os.Root // one handle per element of done
	todo   []string
	links  int
	shared *openDirs // owns the handles, if not nil
}

func (f *finder) release() {
	for len(f.dirs) > 0 {
		f.leave()
	}
}

func (f *finder) leave() {
	n := len(f.dirs) - 1
	if f.shared == nil {
		f.dirs[n].Close()
	}
	f.dirs = f.dirs[:n]
}

func (f *finder) here() *os.Root {
	if len(f.dirs) == 0 {
		return f.tree.root
	}
	return f.dirs[len(f.dirs)-1]
}

func (f *finder) run() (*resolvedPath, error) {
	for len(f.todo) > 0 {
		name := f.todo[0]
		f.todo = f.todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if err := f.up(); err != nil {
				return nil, err
			}
			continue
		}
		p, err := f.enter(name)
		if p != nil || err != nil {
			return p, err
		}
	}
	return f.directory()
}

// enter goes down one component; at the end it returns the place.
func (f *finder) enter(name string) (*resolvedPath, error) {
	last := len(f.todo) == 0
	if !last && f.shared != nil && len(f.shared.roots) > 0 {
		done := append(f.done, name)
		if dir := f.shared.roots[dirName{f.tree, path.Join(done...)}]; dir != nil {
			f.dirs, f.done = append(f.dirs, dir), done
			return nil, nil
		}
	}
	if last && f.guess {
		return f.resolved(name, nil, nil), nil
	}
	info, err := f.here().Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return f.absent(name)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0 && !(last && !f.follow):
		return nil, f.link(name)
	case last:
		return f.resolved(name, nil, info), nil
	case !info.IsDir():
		return nil, notBelow(f.tree.path(path.Join(path.Join(f.done...), name)))
	}
	return nil, f.down(name, info)
}

// down opens the directory name, which info describes. A symlink swapped in meanwhile is detected as a
// different file.
func (f *finder) down(name string, info fs.FileInfo) error {
	next, err := plainfile.In(f.here(), name)
	if err != nil {
		code, _, _ := classify(err)
		if code == tool.NotFound || code == tool.NotADirectory || errors.Is(err, f.escape) {
			return errRaced
		}
		return err
	}
	opened, err := next.Stat(".")
	if err != nil || !os.SameFile(info, opened) {
		next.Close()
		return errRaced
	}
	f.dirs = append(f.dirs, next)
	f.done = append(f.done, name)
	f.shared.add(f.tree, f.done, next)
	return nil
}

func (f *finder) link(name string) error {
	if f.symlinks == Block {
		return linkBlocked(f.given, f.tree.path(path.Join(path.Join(f.done...), name)))
	}
	if f.links++; f.links > maxLinks {
		return tool.Errorf(tool.InvalidArgument, "%s leads through more than %d symbolic links", f.given, maxLinks).
			Suggest("Look for a link that points to itself, and use the real path.").With("path", f.given)
	}
	target, err := f.here().Readlink(name)
	if err != nil {
		return errRaced // it was a symlink a moment ago
	}
	if filepath.IsAbs(target) {
		return f.jump(target)
	}
	if filepath.VolumeName(target) != "" {
		return outside(f.given)
	}
	f.todo = append(strings.Split(filepath.ToSlash(target), "/"), f.todo...)
	return nil
}

// up goes to the parent directory, which may lie outside the tree and in another one.
func (f *finder) up() error {
	if n := len(f.dirs); n > 0 {
		f.leave()
		f.done = f.done[:n-1]
		return nil
	}
	return f.jump(filepath.Dir(f.tree.abs))
}

// jump continues from an absolute path.
func (f *finder) jump(abs string) error {
	abs = filepath.Join(abs, filepath.Join(f.todo...))
	t, rel, ok := f.treeOf(abs)
	if !ok {
		return outside(f.given)
	}
	f.release()
	f.tree, f.done, f.todo = t, nil, components(rel)
	return nil
}

func (f *finder) absent(name string) (*resolvedPath, error) {
	rest := slices.DeleteFunc(slices.Clone(f.todo), func(s string) bool { return s == "" || s == "." })
	if slices.Contains(rest, "..") {
		return nil, notFound(f.given) // the system would not go up from a missing directory
	}
	return f.resolved(name, rest, nil), nil
}

func (f *finder) directory() (*resolvedPath, error) {
	n := len(f.done)
	if n == 0 {
		info, err := f.tree.root.Stat(".")
		if err != nil {
			return nil, err
		}
		p := f.resolved(".", nil, info)
		p.rel = "."
		return p, nil
	}
	name, self := f.done[n-1], f.dirs[n-1]
	info, err := self.Stat(".")
	f.leave()
	f.done = f.done[:n-1]
	if err != nil {
		return nil, err
	}
	return f.resolved(name, nil, info), nil
}

func (f *finder) resolved(name string, rest []string, info fs.FileInfo) *resolvedPath {
	parts := append(append(slices.Clone(f.done), name), rest...)
	p := &resolvedPath{
		given: f.given, tree: f.tree, dir: f.here(), name: name, rest: rest,
		rel: path.Join(parts...), info: info, open: f.dirs, dirs: f.shared,
	}
	if f.shared != nil {
		p.open = nil
	}
	return p
}

// Check resolves path for a program to be run with it: every symlink is followed (for removals, not the last
// component) and the absolute real path is returned. It need not exist. Errors: path_outside_workspace,
// permission_denied for a protected path, not_a_directory, blocked.
func (w *Workspace) Check(path string, access Access) (string, error) {
	p, err := w.locate(path, access.follows())
	if err != nil {
		return "", err
	}
	defer p.close()
	if err := w.permit(p, access); err != nil {
		return "", err
	}
	return p.tree.join(p.rel), nil
}
