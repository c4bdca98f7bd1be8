package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/file/rights"
)

// DefaultLockWait is how long a write waits for other writers of the directory.
const DefaultLockWait = 10 * time.Second

// SymlinkPolicy says how symlinks are treated.
type SymlinkPolicy int

const (
	// Inside follows symlinks while they stay inside the workspace.
	Inside SymlinkPolicy = iota
	// Block refuses every path with a symlink in it, with code blocked. The
	// symlink itself can still be removed or renamed.
	Block
)

// Access is how a caller will use a path.
type Access int

const (
	// Read only reads.
	Read Access = iota
	// Write creates or changes the file at the path, or an entry directly below it that is checked by itself.
	Write
	// Remove removes or renames the file at the path with everything below it; a symlink itself, not its target.
	Remove
	// RemoveEmpty removes an empty directory: its content is not checked.
	RemoveEmpty
)

// follows reports whether a trailing symlink is followed.
func (a Access) follows() bool { return a == Read || a == Write }

// Options configure a workspace. The zero value is a good default.
type Options struct {
	// Allow lists further directories whose files may be used, absolute or relative to the root.
	Allow []string
	// Protect lists globs of paths that cannot be written, relative to the root or to an allowed directory,
	// regardless of case. Nil means DefaultProtect; an empty list protects nothing.
	Protect []string
	// Symlinks says how symlinks are treated.
	Symlinks SymlinkPolicy
	// Recorder is called before every change of a file. May be nil.
	Recorder Recorder
	// Hidden lists absolute real paths that cannot be used, with everything below them.
	Hidden []string
	// Identity is the expected realpath.Identity of the root, if another process has opened it first. A different
	// directory is refused.
	Identity string
	// LockWait limits how long a write waits for other writers of the directory. Zero means DefaultLockWait.
	LockWait time.Duration
}

// Workspace gives access to the files of a directory tree. It is safe for concurrent use.
type Workspace struct {
	*core
	ctx context.Context
}

type core struct {
	trees    []*tree // the root first, then the allowed ones
	symlinks SymlinkPolicy
	protect  *protection
	recorder Recorder
	lockWait time.Duration
	hidden   []string
	escape   error // os.Root's error for a path outside
	locks    lockTable
	swept    sync.Map // directories swept of stale temporary files

	restoring bool // see Restoring
	drafts    int  // limit of a batch's new files open at a time

	// System calls, replaced by tests.
	sync         func(*os.File) error
	syncTogether func([]*os.File) error
	exchange     func(p *resolvedPath, name string) error
	rename       func(dir *os.Root, from, to string) error
	give         func(like *rights.Rights, f *os.File, mode fs.FileMode, fill func() error) error
}

type tree struct {
	root  *os.Root
	abs   string // absolute, symlinks resolved
	given string // absolute, as given
	main  bool   // the workspace root itself
	hides func(abs string) bool
}

// Open opens the workspace with the given root directory. Errors: not_found,
// not_a_directory and permission_denied for the root or an allowed directory,
// invalid_argument for a protect glob that does not parse.
func Open(root string, opts Options) (*Workspace, error) {
	protect, err := newProtection(opts.Protect)
	if err != nil {
		return nil, err
	}
	c := &core{
		hidden:   opts.Hidden,
		symlinks: opts.Symlinks, protect: protect, recorder: opts.Recorder, lockWait: opts.LockWait,
		sync: (*os.File).Sync, syncTogether: syncTogether, exchange: exchange, drafts: draftsAtOnce(),
		rename: (*os.Root).Rename, give: (*rights.Rights).Give,
	}
	if c.lockWait <= 0 {
		c.lockWait = DefaultLockWait
	}
	w := &Workspace{core: c, ctx: context.Background()}
	if err := c.addTree(root); err != nil {
		return nil, err
	}
	if now := w.Identity(); opts.Identity != "" && now != opts.Identity {
		return nil, errors.Join(tool.Errorf(tool.Conflict, "another directory has taken the place of the workspace %s",
			root).
			Suggest("Put the workspace back, or start toolhost again in the directory that is meant."), w.Close())
	}
	for _, dir := range opts.Allow {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.trees[0].abs, dir)
		}
		if err := c.addTree(dir); err != nil {
			return nil, errors.Join(err, w.Close())
		}
	}
	c.escape = escapeError(c.trees[0].root)
	return w, nil
}

// escapeError returns os.Root's error value for a path outside.
func escapeError(root *os.Root) error {
	_, err := root.Lstat("..")
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return fs.ErrInvalid
}

func (c *core) addTree(dir string) error {
	given, err := filepath.Abs(dir)
	if err != nil {
		return openError(dir, err)
	}
	abs, err := filepath.EvalSymlinks(given)
	if err != nil {
		return openError(dir, err)
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return openError(dir, err)
	}
	c.trees = append(c.trees, &tree{root: root, abs: abs, given: given, main: len(c.trees) == 0, hides: c.Hides})
	return nil
}

func openError(dir string, err error) error {
	code, what, _ := classify(err)
	return tool.Errorf(code, "cannot use %s as a workspace directory: %s", dir, what).
		Suggest("Name an existing directory, with --workspace or as workspace.root or workspace.allow in agent.hcl.")
}

// Close releases the directory handles after operations in progress end.
func (w *Workspace) Close() error {
	var errs []error
	for _, t := range w.trees {
		errs = append(errs, t.root.Close())
	}
	return errors.Join(errs...)
}

// Root returns the absolute real path of the workspace's directory.
func (w *Workspace) Root() string { return w.trees[0].abs }

// Identity returns the realpath.Identity of the open root.
func (w *Workspace) Identity() string {
	info, err := w.trees[0].root.Stat(".")
	if err != nil {
		return ""
	}
	return realpath.Identity(info)
}

// Dir opens the open root for reading, even if its name now leads elsewhere.
func (w *Workspace) Dir() (*os.File, error) { return w.trees[0].root.Open(".") }

// Hides reports whether an absolute path is hidden.
func (c *core) Hides(abs string) bool {
	return slices.ContainsFunc(c.hidden, func(hidden string) bool {
		_, below := relativeTo(hidden, abs)
		return below
	})
}

func hiddenError(given string) *tool.Error {
	return tool.Errorf(tool.PermissionDenied,
		"%s is known to hold secrets, or is hidden by sandbox.mask: tools do not use it", given).
		Suggest("Do without it, or ask the user for the part that you need.").With("path", given)
}

// WithContext returns a view of the workspace whose waits for other writers also end with ctx, as timeout or
// cancelled.
func (w *Workspace) WithContext(ctx context.Context) *Workspace {
	return &Workspace{core: w.core, ctx: ctx}
}

// relativeTo returns the slash path of abs relative to dir, if it is dir or relativeTo it. Both are clean.
func relativeTo(dir, abs string) (string, bool) {
	if dir == abs {
		return ".", true
	}
	if !strings.HasSuffix(dir, string(filepath.Separator)) {
		dir += string(filepath.Separator)
	}
	if len(abs) <= len(dir) || abs[:len(dir)] != dir {
		return "", false
	}
	return filepath.ToSlash(abs[len(dir):]), true
}

// treeOf returns the tree of a clean absolute path: the workspace itself, else the innermost allowed directory.
func (c *core) treeOf(abs string) (*tree, string, bool) {
	var best *tree
	var bestRel string
	for _, t := range c.trees {
		rel, ok := relativeTo(t.abs, abs)
		if !ok {
			rel, ok = relativeTo(t.given, abs)
		}
		if !ok {
			continue
		}
		if t.main {
			return t, rel, true
		}
		if best == nil || len(t.abs) > len(best.abs) {
			best, bestRel = t, rel
		}
	}
	return best, bestRel, best != nil
}

// path returns rel as callers see it: relative to the workspace, or absolute below an allowed
// directory.
func (t *tree) path(rel string) string {
	if t.main {
		return rel
	}
	return filepath.ToSlash(t.join(rel))
}

func (t *tree) join(rel string) string { return filepath.Join(t.abs, filepath.FromSlash(rel)) }
