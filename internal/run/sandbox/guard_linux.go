package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/run/sandbox/launch"
)

// guard is what level landlock keeps from being changed in writable trees,
// whether it exists or not: what the policy has read-only there, its names, and
// what git heeds. Level full mounts what exists, which needs no supervisor.
//
// Where no repository is yet, one may be made.
func (p *Policy) guard(g grants) launch.Guard {
	k := keeper{writable: g.writable, names: p.Names, cache: g.cache}
	for _, root := range g.writable {
		if inRepository(root) {
			k.repositories = append(k.repositories, root)
		}
	}
	for _, path := range slices.Concat(p.ReadOnly, p.Keep) {
		k.paths = append(k.paths, wherever(path)...)
	}
	return launch.Guard{Protected: k.protected, Holds: k.holds}
}

// wherever gives a path without symlinks, of what exists and of what does not.
func wherever(path string) []string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		dir = filepath.Dir(path)
	}
	paths := []string{filepath.Join(dir, filepath.Base(path))}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != paths[0] {
		paths = append(paths, real)
	}
	return paths
}

type keeper struct {
	writable, paths, names []string
	repositories           []string // those of writable that lie in one
	cache                  string   // of toolhost's own, where nobody looks for configuration
}

// protected reports whether nothing may be made, changed or removed at path.
func (k keeper) protected(path string) bool {
	for _, kept := range k.paths {
		if within(path, kept) && !grantedBelow(kept, path, k.writable) {
			return true
		}
	}
	if k.cache != "" && within(path, k.cache) {
		return false
	}
	parts := partsBelow(k.writable, path)
	if slices.ContainsFunc(k.names, func(glob string) bool { return matchesEnd(glob, parts) }) {
		return true
	}
	inside, found := insideGit(partsBelow(k.repositories, path))
	return found && (len(inside) == 0 || heeded(inside))
}

// holds reports whether something that is protected lies, or would lie, below
// path.
func (k keeper) holds(path string) bool {
	if anyWithin(k.paths, path) {
		return true
	}
	if k.cache != "" && within(path, k.cache) {
		return false
	}
	parts := partsBelow(k.writable, path)
	for _, name := range k.names {
		if dir, _, deep := strings.Cut(name, "/"); deep && matchesEnd(dir, parts) {
			return true
		}
	}
	inside, found := insideGit(partsBelow(k.repositories, path))
	return found && holdsHeeded(inside)
}

// partsBelow are the names in a path, from the tree on in which it lies.
func partsBelow(roots []string, path string) []string {
	for _, root := range roots {
		if within(path, root) {
			return strings.Split(strings.TrimPrefix(path[len(root):], "/"), "/")
		}
	}
	return nil
}

// insideGit gives the names below the last .git of a path.
func insideGit(parts []string) (inside []string, found bool) {
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i] == ".git" {
			return parts[i+1:], true
		}
	}
	return nil, false
}

// holdsHeeded reports whether something that git heeds may lie below a
// directory inside of a repository's.
func holdsHeeded(inside []string) bool {
	if len(inside) == 0 {
		return true
	}
	last := inside[len(inside)-1]
	if inside[0] != "modules" && inside[0] != "worktrees" {
		name := strings.Join(inside, "/")
		return name == "info" || name == "objects" || name == "objects/info"
	}
	if hasAny(inside, "refs", "logs") || hasAny(inside[:len(inside)-1], "objects") && last != "info" {
		return false
	}
	return !strings.HasSuffix(last, ".lock") && strings.ToUpper(last) != last &&
		!slices.Contains(ordinaryFiles[:], last)
}

// ordinaryFiles are those that git itself replaces in a repository's directory,
// beside those that end in .lock or are in capitals.
var ordinaryFiles = [...]string{"index", "packed-refs", "shallow", "description", "gc.pid", "gc.log"}
