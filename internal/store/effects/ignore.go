package effects

import (
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

// regenerable are directories that programs fill by themselves: changes there are only counted.
var regenerable = []string{"node_modules", "bower_components", "__pycache__", ".venv", ".tox", ".nox", ".mypy_cache",
	".pytest_cache", ".ruff_cache", ".gradle", ".parcel-cache", ".turbo", ".dart_tool", ".svelte-kit", ".next", ".nuxt"}

// built are directories of build output, if git ignores them and tracks no file in them; otherwise the
// project's.
var built = []string{"target", "build", "dist", "out", "bin", "obj", "venv", ".output", ".cache", "coverage", "htmlcov",
	"cmake-build-debug", "cmake-build-release"}

// rules decide what is only counted. Other files that git ignores are kept: nothing else restores them.
type rules struct {
	given *workspace.Patterns
	tops  []top
	dirs  map[string]bool
}

type top struct {
	prefix  string
	git     *workspace.Patterns
	tracked *tracked
}

// newRules reads the rules before a call begins, so that it cannot change them.
func newRules(trees Trees) *rules {
	r := &rules{given: workspace.NewPatterns(trees.Ignore), dirs: make(map[string]bool)}
	for _, tree := range trees.Allow {
		r.tops = append(r.tops, top{tree + "/", workspace.GitPatterns(tree), openTracked(tree)})
	}
	r.tops = append(r.tops, top{"", workspace.GitPatterns(trees.Root), openTracked(trees.Root)})
	return r
}

// ignore returns the directory because of which changes below a path are not kept, or the path itself if named,
// or "". Patterns apply from the top of each tree.
func (r *rules) ignore(name string) string {
	in := r.tops[slices.IndexFunc(r.tops, func(t top) bool { return strings.HasPrefix(name, t.prefix) })]
	for i := len(in.prefix) + 1; i < len(name); i++ {
		if name[i] == '/' && r.dir(in, name[:i]) {
			return name[:i]
		}
	}
	if ignored, _ := r.given.Decide(name[len(in.prefix):], false); ignored && !strings.HasSuffix(name, "/") {
		return name
	}
	return ""
}

func (r *rules) dir(in top, dir string) bool {
	ignored, known := r.dirs[dir]
	if known {
		return ignored
	}
	base, rel := path.Base(dir), dir[len(in.prefix):]
	ignored, decided := r.given.Decide(rel, true)
	if !decided && slices.Contains(built, base) {
		ignored, _ = in.git.Decide(rel, true)
		ignored = ignored && !in.tracked.in(rel)
	}
	ignored = ignored || !decided && slices.Contains(regenerable, base)
	r.dirs[dir] = ignored
	return ignored
}

// repository returns the repository directory of an object's path, or "". Objects are named by their content:
// those that a call adds may stay, those that it removes are kept like other files.
func repository(name string) string {
	parts := strings.Split(name, "/")
	for i := 1; i < len(parts)-1; i++ {
		if parts[i] == "objects" && inGit(parts[:i]) {
			return strings.Join(parts[:i], "/")
		}
	}
	return ""
}

// inGit reports whether a directory is a repository's own, or a submodule's.
func inGit(parts []string) bool {
	return parts[len(parts)-1] == ".git" ||
		slices.Contains(parts, ".git") && slices.Contains(parts, "modules")
}
