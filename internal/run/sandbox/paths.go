package sandbox

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/obeyed"
	"github.com/toolhost/toolhost/internal/file/realpath"
)

// within reports whether path is dir or lies below it. Both are clean.
func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

func withinAny(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(path, dir) })
}

func anyWithin(paths []string, dir string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return within(path, dir) })
}

// grants are the paths of a policy with symlinks resolved.
type grants struct {
	writable, readOnly, secrets []string
	home                        string // hidden but for shown; may be empty
	shown                       []shownPlace
	cache, scratch              string
}

// hidden returns the places in which a process sees only what is granted.
func (g *grants) hidden() []string {
	if g.home == "" {
		return g.secrets
	}
	return append([]string{g.home}, g.secrets...)
}

func (p *Policy) grants() (g grants, err error) {
	writable := slices.Clone(p.ReadWrite)
	if p.Workspace != "" && !p.Untouched {
		writable = append(writable, p.Workspace)
	}
	for _, path := range writable {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return g, tool.Errorf(tool.NotFound, "the sandbox cannot make %s writable: %w", path, err).
				Suggest("Make the directory, or take it out of agent.hcl.")
		}
		if g.writable = append(g.writable, real); p.bent(path, real) {
			return g, leadsElsewhere(path, real)
		}
	}
	if err := claim(g.writable); err != nil {
		return g, err
	}
	home := homeDirectory()
	if home == "" {
		return g, tool.Errorf(tool.Unavailable, "it is not known which home directory to hide from commands: HOME is not set, "+
			"and the user database has no entry for user %d", os.Geteuid()).
			Suggest("Set HOME to the absolute path of this user's home directory.")
	}
	secrets, shown := p.prepared.places(home)
	g.secrets, g.shown = slices.Concat(secrets, existing(p.MaskSecrets)), shown
	for _, path := range p.ReadOnly {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if g.readOnly = append(g.readOnly, real); p.bent(path, real) {
			return g, leadsElsewhere(path, real)
		}
	}
	if dir := p.repository(); dir != "" && !p.Untouched && p.Workspace != "" {
		g.writable = append(g.writable, dir)
	} else if dir != "" {
		g.readOnly = append(g.readOnly, dir)
	}
	g.home = hiddenHome(home, slices.Concat(g.writable, g.readOnly))
	g.readOnly = append(g.readOnly, g.kept(p.Keep)...)
	if !p.Untouched {
		g.cache, err = p.cache(g.writable)
		return g, err
	}
	g.readOnly = append(g.readOnly, existing([]string{p.Workspace})...)
	g.home = hiddenHome(g.home, g.readOnly)
	if g.cache, err = p.cache(append(existing([]string{p.Workspace}), g.writable...)); g.cache != "" {
		g.writable = append(g.writable, g.cache)
	}
	return g, err
}

// repository returns the repository directory of the submodule or linked worktree in the workspace. A process
// may change it like a .git in the workspace: the supervisor protects what git obeys.
func (p *Policy) repository() string {
	root, err := filepath.EvalSymlinks(cmp.Or(p.Workspace, p.Held.Path))
	if err != nil {
		return ""
	}
	return obeyed.Repository(root)
}

// bent reports whether a path that must be granted as written leads to another.
func (p *Policy) bent(path, real string) bool {
	return real != filepath.Clean(path) && slices.Contains(p.Straight, path)
}

func leadsElsewhere(path, real string) error {
	return tool.Errorf(tool.PermissionDenied, "%s leads to %s now, and did not when agent.hcl was approved", path,
		real).
		Suggest("Take the symlink away, or approve agent.hcl again with toolhost trust.").With("path", path)
}

// kept resolves read-only paths without those that cannot be changed anyway: being read-only would make them
// visible, wherever a planted link leads.
func (g *grants) kept(paths []string) []string {
	return slices.DeleteFunc(existing(paths), func(real string) bool {
		return !withinAny(real, g.writable) || g.hides(real)
	})
}

// hides reports whether a path lies in a place of secrets without a grant within it that includes the path.
func (g *grants) hides(real string) bool {
	return slices.ContainsFunc(g.hidden(), func(secret string) bool {
		return within(real, secret) &&
			!slices.ContainsFunc(g.writable, func(w string) bool { return within(w, secret) && within(real, w) })
	})
}

// grantedBelow reports whether a path in root was granted by its own name.
func grantedBelow(root, path string, writable []string) bool {
	return slices.ContainsFunc(writable, func(w string) bool { return w != root && within(w, root) && within(path, w) })
}

func existing(paths []string) (found []string) {
	memo := make(realpath.Memo)
	for _, path := range paths {
		if real, err := memo.Of(filepath.Clean(path)); err == nil {
			found = append(found, real)
		}
	}
	return found
}

// GrantedCache returns the cache directory, in the workspace at root, of a block with rights of its own.
func GrantedCache(root, name string) string {
	return filepath.Join(root, ".agent", "cache", "granted", name)
}

func sharedCache(root string) string { return filepath.Join(root, ".agent", "cache", "sandbox") }

// MakeCache makes a cache directory in the workspace at root, without following symlinks out of it.
func MakeCache(root, dir string) error {
	for _, name := range cacheNames {
		if err := makeBelow(root, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	ignoreInGit(root, filepath.Dir(dir))
	return nil
}

var cacheNames = [...]string{"go-build", "go-mod", "npm", "xdg", "tmp"}

// cache makes the cache directory, without following symlinks out of the workspace, and returns its path, "" if
// it has no place.
func (p *Policy) cache(writable []string) (string, error) {
	if p.NoCache {
		return "", nil
	}
	dir, root := p.CacheDir, p.CacheDir
	if dir == "" && p.Workspace == "" {
		return "", nil
	}
	if dir == "" {
		dir = sharedCache(p.Workspace)
	}
	own := p.CacheDir == "" || p.Workspace != "" && within(dir, GrantedCache(p.Workspace, ""))
	if own {
		root = p.Workspace
	}
	for _, name := range cacheNames {
		err := makeBelow(root, filepath.Join(dir, name))
		if own && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
			return "", nil // a read-only workspace needs no cache
		}
		if err != nil {
			return "",
				tool.Errorf(tool.Unavailable, "the cache directory for confined commands cannot be made: %w", err).
					Suggest("Make %s a directory that you may write to.", dir)
		}
	}
	ignoreInGit(root, dir)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !withinAny(real, writable) {
		return "", tool.Errorf(tool.InvalidArgument,
			"the cache directory %s lies outside what confined commands may write", dir).
			Suggest("Choose a directory in the workspace.")
	}
	return real, nil
}

// makeScratch makes the temporary directory without following symlinks out.
func (p *Policy) makeScratch(g *grants) error {
	if p.Scratch == "" {
		return nil
	}
	for _, root := range p.ReadOnly {
		if !within(p.Scratch, root) || makeBelow(root, p.Scratch) != nil {
			continue
		}
		ignoreInGit(root, filepath.Dir(p.Scratch))
		if real, err := filepath.EvalSymlinks(p.Scratch); err == nil && withinAny(real, g.readOnly) {
			g.scratch, g.writable = real, append(g.writable, real)
			return nil
		}
	}
	return tool.Errorf(tool.Unavailable, "the directory for temporary files of confined commands cannot be made").
		Suggest("Make %s a directory of the workspace that you may write to.", p.Scratch)
}

// ignoreInGit hides the cache from git, as far as possible.
func ignoreInGit(root, dir string) {
	if _, err := os.Lstat(filepath.Join(dir, ".gitignore")); err == nil {
		return
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return
	}
	defer r.Close()
	if name, err := filepath.Rel(root, filepath.Join(dir, ".gitignore")); err == nil {
		_ = r.WriteFile(name, []byte("*\n"), 0o600)
	}
}

func makeBelow(root, dir string) error {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		return nil
	}
	if root == dir {
		return os.MkdirAll(dir, 0o700)
	}
	r, err := os.OpenRoot(root)
	if err != nil {
		return os.MkdirAll(dir, 0o700)
	}
	defer r.Close()
	name, err := filepath.Rel(root, dir)
	if err != nil {
		return err
	}
	return r.MkdirAll(name, 0o700)
}
