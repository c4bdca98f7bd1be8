package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/file/obeyed"
	"github.com/toolhost/toolhost/internal/file/realpath"
	"github.com/toolhost/toolhost/internal/run/sandbox/launch"
)

// guard returns what the supervisor protects in writable trees, existing or not: read-only paths, names, and
// what the user's other programs obey. Hidden paths are included: the supervisor makes its calls outside the
// mounts that hide them.
func (p *Policy) guard(g grants) launch.Guard {
	k := keeper{writable: g.writable, names: obeyed.ParseGlobs(p.Names), cache: g.cache, workspace: resolved(p.Workspace)}
	memo := make(realpath.Memo)
	for _, path := range slices.Concat(p.ReadOnly, p.Keep) {
		k.paths = append(k.paths, wherever(filepath.Clean(path), memo)...)
	}
	for _, path := range g.hidden() {
		if withinAny(path, g.writable) && !slices.Contains(g.writable, path) {
			k.paths = append(k.paths, path)
		}
	}
	return launch.Guard{Protected: k.protected, Holds: k.holds, Vital: k.vital, Checked: k.checked,
		Directory: k.directory, MayGo: k.mayGo}
}

// wherever resolves the symlinks of a path, existing or not.
func wherever(path string, memo realpath.Memo) []string {
	dir, err := memo.Of(filepath.Dir(path))
	if err != nil {
		dir = filepath.Dir(path)
	}
	paths := []string{filepath.Join(dir, filepath.Base(path))}
	if real, err := memo.Of(path); err == nil && real != paths[0] {
		paths = append(paths, real)
	}
	return paths
}

type keeper struct {
	writable, paths []string
	names           []obeyed.Glob
	workspace       string
	cache           string // toolhost's own, where programs look for no configuration
}

// protected reports whether a path may not be made, changed or removed.
func (k keeper) protected(path string, exists obeyed.Exists) bool {
	if k.kept(path) {
		return true
	}
	_, ours := k.parts(path)
	return ours && obeyed.Git(path, exists)
}

// kept is protected without what git obeys.
func (k keeper) kept(path string) bool {
	for _, kept := range k.paths {
		if within(path, kept) && !grantedBelow(kept, path, k.writable) {
			return true
		}
	}
	parts, ours := k.parts(path)
	return ours && (k.named(path, parts) || obeyed.ByName(parts, k.above(path)...))
}

// named reports whether a path, or a directory above it, has one of the names. Names of several parts are
// relative to work trees, and do not apply in repository directories.
func (k keeper) named(path string, parts []string) bool {
	inGit := strings.Contains(path, "/.git/")
	return slices.ContainsFunc(k.names, func(glob obeyed.Glob) bool {
		if len(glob) > 1 && inGit {
			return false
		}
		for end := range parts {
			if glob.Ends(parts[:end+1]) {
				return true
			}
		}
		return false
	})
}

// holds reports whether something protected lies, or would lie, below path.
func (k keeper) holds(path string, exists obeyed.Exists) bool {
	if anyWithin(k.paths, path) {
		return true
	}
	parts, ours := k.parts(path)
	if !ours {
		return false
	}
	for _, name := range k.names {
		if name.EndsAbove(parts) {
			return true
		}
	}
	return obeyed.HoldsName(parts, k.above(path)...) || obeyed.HoldsGit(path, exists)
}

// checked returns what a file that git obeys may hold, nil if it may not be changed.
func (k keeper) checked(path string, look launch.Look) *obeyed.Check {
	if _, ours := k.parts(path); !ours || k.kept(path) {
		return nil
	}
	return k.trees(look).Checked(path)
}

// directory reports whether something that git obeys may be made as a directory.
func (k keeper) directory(path string) bool {
	_, ours := k.parts(path)
	return ours && !k.kept(path) && obeyed.MayBeDirectory(path)
}

// mayGo reports whether something that git obeys may be removed.
func (k keeper) mayGo(path string, look launch.Look) bool {
	_, ours := k.parts(path)
	return ours && !k.kept(path) && k.trees(look).MayGo(path)
}

func (k keeper) trees(look launch.Look) obeyed.Trees {
	return obeyed.Trees{Exists: look.Exists, Straight: look.Straight, Read: look.Read,
		Writable: func(path string) bool { _, ours := k.parts(path); return ours },
		Root:     func(path string) bool { return slices.Contains(k.writable, path) }}
}

// vital reports whether a path may be replaced but not removed.
func (k keeper) vital(path string, exists obeyed.Exists) bool {
	_, ours := k.parts(path)
	return ours && obeyed.Vital(path, exists)
}

// parts returns the elements of a path below its writable tree. Caches and temporary directories do not count.
func (k keeper) parts(path string) (parts []string, ours bool) {
	if k.cache != "" && within(path, k.cache) {
		return nil, false
	}
	parts = partsBelow(k.writable, path)
	return parts, parts != nil
}

// above returns the elements of the path of its tree, if that was granted: in a grant of ~/.claude agents obey
// nothing.
func (k keeper) above(path string) []string {
	for _, root := range k.writable {
		if within(path, root) && root != k.workspace {
			return strings.Split(strings.TrimPrefix(root, "/"), "/")
		}
	}
	return nil
}

// partsBelow returns the elements of a path below its tree.
func partsBelow(roots []string, path string) []string {
	for _, root := range roots {
		if within(path, root) {
			return strings.Split(strings.TrimPrefix(path[len(root):], "/"), "/")
		}
	}
	return nil
}
