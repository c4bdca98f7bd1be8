package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/plainfile"
)

const (
	// DefaultMaxDepth is the default of WalkOptions.MaxDepth.
	DefaultMaxDepth = 256
	// DefaultMaxEntries is the default of WalkOptions.MaxEntries.
	DefaultMaxEntries = 2_000_000
)

// WalkOptions configure Walk. The zero value visits all but hidden entries.
type WalkOptions struct {
	// Gitignore leaves out .git and what .gitignore files in the tree and .git/info/exclude list. Git's index is
	// ignored.
	Gitignore bool
	// Hidden includes entries whose name starts with a dot.
	Hidden bool
	// SkipDirs lists directories to leave out: a plain name at any depth, or a glob with a slash relative to the
	// workspace or the allowed directory.
	SkipDirs []string
	// MaxDepth limits the levels below dir; 1 means its entries alone. Zero means DefaultMaxDepth.
	MaxDepth int
	// MaxEntries limits the entries examined; more is the error too_large. Zero means DefaultMaxEntries.
	MaxEntries int
	// OnSkip is called for directories that cannot be read or, with code too_large, are deeper than the default
	// MaxDepth. May be nil.
	OnSkip func(path string, err error)

	// enter decides whether to enter a directory; nil enters all.
	enter func(rel string) bool
}

// Entry is a file, directory or symlink that Walk found.
type Entry struct {
	// Path is a slash path relative to the workspace, or absolute in an allowed directory.
	Path    string
	Dir     bool
	Symlink bool
	// Type is the kind of file, of a symlink itself.
	Type fs.FileMode

	rel string // in the tree
}

// Walk calls fn for everything below dir, sorted bytewise by Path. Symlinked directories are not entered. fn may
// return fs.SkipDir for a directory, or fs.SkipAll to end; any other error ends the walk and is returned. Errors:
// not_found, not_a_directory, path_outside_workspace for dir, too_large, timeout or cancelled with ctx.
func (w *Workspace) Walk(ctx context.Context, dir string, opts WalkOptions, fn func(Entry) error) error {
	root, rel, t, err := w.openDir(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	v := &visitor{w: w, ctx: ctx, tree: t, given: dir, opts: opts, fn: fn, left: opts.MaxEntries, depth: opts.MaxDepth}
	if v.left <= 0 {
		v.left = DefaultMaxEntries
	}
	if v.depth <= 0 {
		v.depth = DefaultMaxDepth
	}
	if err := v.parseSkips(); err != nil {
		return err
	}
	var ignores *ignoreList
	if opts.Gitignore {
		ignores = ignoresAbove(t.root, rel)
	}
	if rel == "." {
		rel = ""
	}
	err = v.visit(root, rel, ignores, v.depth)
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

type visitor struct {
	w     *Workspace
	ctx   context.Context
	tree  *tree
	given string
	opts  WalkOptions
	fn    func(Entry) error
	left  int
	depth int
	names map[string]bool // SkipDirs without a slash
	globs []string        // the others
}

func (v *visitor) parseSkips() error {
	v.names = make(map[string]bool)
	for _, skip := range v.opts.SkipDirs {
		if clean := strings.TrimSuffix(skip, "/"); strings.ContainsAny(clean, "/*?[{\\") {
			v.globs = append(v.globs, clean)
		} else {
			v.names[clean] = true
		}
	}
	for _, glob := range v.globs {
		if !doublestar.ValidatePattern(glob) {
			return badPattern(glob)
		}
	}
	return nil
}

func badPattern(glob string) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "the glob %q does not parse", glob).
		Suggest("Close its brackets and braces; a backslash takes the next character as it is.").With("pattern", glob)
}

// step is an entry by itself, or entering it: in bytewise order of paths other names can come between the two.
type step struct {
	key   string // the sort key: the name, with a slash for entering
	rel   string
	mode  fs.FileMode
	enter bool
}

// visit walks the directory rel ("" for the tree's root), whose handle is dir.
func (v *visitor) visit(dir *os.Root, rel string, ignores *ignoreList, depth int) error {
	if err := v.ctx.Err(); err != nil {
		return v.w.fail("list", v.given, err)
	}
	items, err := readNames(dir, v.left)
	if err != nil {
		v.skipped(rel, err)
		return nil
	}
	if v.left -= len(items); v.left < 0 {
		return tool.Errorf(tool.TooLarge, "there are too many files below %s", v.given).
			Suggest("Name a smaller directory.").With("path", v.given)
	}
	if v.opts.Gitignore && slices.ContainsFunc(items, func(i item) bool { return i.name == ".gitignore" }) {
		ignores = readIgnore(dir, ".gitignore", rel, ignores)
	}
	var skipped map[string]bool // several can wait to be entered
	for _, s := range v.steps(items, rel, ignores) {
		if s.enter && !skipped[s.rel] {
			err = v.enter(dir, s, ignores, depth-1)
		} else if !s.enter {
			err = v.fn(Entry{Path: v.tree.path(s.rel), rel: s.rel, Type: s.mode, Dir: s.mode.IsDir(),
				Symlink: s.mode&fs.ModeSymlink != 0})
		}
		if errors.Is(err, fs.SkipDir) && s.mode.IsDir() && !s.enter {
			if skipped == nil {
				skipped = make(map[string]bool)
			}
			skipped[s.rel], err = true, nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// steps returns the entries that the options select, in order.
func (v *visitor) steps(items []item, rel string, ignores *ignoreList) []step {
	if rel != "" {
		rel += "/"
	}
	steps := make([]step, 0, len(items)+8)
	for _, i := range items {
		path := rel + i.name
		if v.hides(i.name, path, i.mode, ignores) {
			continue
		}
		steps = append(steps, step{key: i.name, rel: path, mode: i.mode})
		if i.mode.IsDir() {
			steps = append(steps, step{key: i.name + "/", rel: path, mode: i.mode, enter: true})
		}
	}
	slices.SortFunc(steps, func(a, b step) int { return strings.Compare(a.key, b.key) })
	return steps
}

func (v *visitor) hides(name, rel string, mode fs.FileMode, ignores *ignoreList) bool {
	switch {
	case !v.opts.Hidden && name[0] == '.':
		return true
	case len(v.w.hidden) > 0 && v.w.Hides(v.tree.join(rel)):
		return true
	case v.opts.Gitignore && (isGit(name, mode) || ignores.ignored(rel, mode.IsDir())):
		return true
	case !mode.IsDir():
		return false
	case v.names[name]:
		return true
	}
	return slices.ContainsFunc(v.globs, func(glob string) bool { return doublestar.MatchUnvalidated(glob, rel) })
}

// enter walks a directory in dir. A symlink swapped in is not followed.
func (v *visitor) enter(dir *os.Root, s step, ignores *ignoreList, depth int) error {
	rel, name := s.rel, strings.TrimSuffix(s.key, "/")
	if v.opts.enter != nil && !v.opts.enter(rel) {
		return nil
	}
	if depth <= 0 {
		if v.opts.MaxDepth <= 0 {
			v.skipped(rel, tool.Errorf(tool.TooLarge, "%s is too deep to look into", v.tree.path(rel)).
				Suggest("Name it as the directory to start from."))
		}
		return nil
	}
	sub, err := plainfile.In(dir, name)
	if err != nil {
		v.skipped(rel, err)
		return nil
	}
	defer sub.Close()
	now, err := dir.Lstat(name)
	opened, err2 := sub.Stat(".")
	if err != nil || err2 != nil || !os.SameFile(now, opened) {
		return nil
	}
	return v.visit(sub, rel, ignores, depth)
}

func (v *visitor) skipped(rel string, err error) {
	if v.opts.OnSkip != nil && !errors.Is(err, fs.ErrNotExist) {
		name := v.tree.path(path.Join(".", rel))
		v.opts.OnSkip(name, v.w.fail("list", name, err))
	}
}
