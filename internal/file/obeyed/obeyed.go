// Package obeyed knows the files that the user's other programs obey: git, by what it takes for a repository
// anywhere, and editors, direnv and agents, by name. No tool and no confined process may create or change
// them.
package obeyed

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// dependencies are directories that package managers fill with third-party packages, in which users do not
// work.
var dependencies = []string{"node_modules", "bower_components", "site-packages"}

// ByName reports whether a path is one of the names, or below one. parts are the path's names below the tree,
// above those that lead to the tree.
func ByName(parts []string, above ...string) bool {
	if HasAny(parts, dependencies...) {
		return false
	}
	all := slices.Concat(above, parts)
	for _, name := range parsedNames() {
		for end := len(above); end < len(all); end++ {
			if name.Ends(all[:end+1]) {
				return true
			}
		}
	}
	return false
}

// HoldsName reports whether a file with one of the names could be directly below a path.
func HoldsName(parts []string, above ...string) bool {
	all := slices.Concat(above, parts)
	return !HasAny(parts, dependencies...) &&
		slices.ContainsFunc(parsedNames(), func(name Glob) bool { return name.EndsAbove(all) })
}

// Glob is a parsed glob of the last names of a path.
type Glob []globName

type globName struct {
	text string
	wild bool // text has wildcards, as few do: path.Match is slow
}

// ParseGlobs parses globs of one or more names.
func ParseGlobs(globs []string) (all []Glob) {
	for _, glob := range globs {
		var g Glob
		for name := range strings.SplitSeq(glob, "/") {
			g = append(g, globName{name, strings.ContainsAny(name, `*?[\`)})
		}
		all = append(all, g)
	}
	return all
}

// Ends reports whether the last names of a path match.
func (g Glob) Ends(parts []string) bool {
	if len(parts) < len(g) {
		return false
	}
	for i, part := range parts[len(parts)-len(g):] {
		if name := g[i]; name.text != part {
			if !name.wild {
				return false
			}
			if ok, _ := path.Match(name.text, part); !ok {
				return false
			}
		}
	}
	return true
}

// EndsAbove reports whether the last names of a directory match the glob's without its last, or its last few.
func (g Glob) EndsAbove(parts []string) bool {
	for end := len(g) - 1; end > 0; end-- {
		if g[:end].Ends(parts) {
			return true
		}
	}
	return false
}

// HasAny reports whether one of the parts is one of the names.
func HasAny(parts []string, names ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(names, part) })
}

// Exists reports whether an absolute path exists, without following a last symlink.
type Exists func(path string) bool

// inRepository are the paths in a repository's directory from which git takes configuration or programs.
// Directories end in a slash.
var inRepository = []string{"config", "commondir", "gitdir", "config.worktree", "hooks/", "info/attributes",
	"objects/info/alternates", "objects/info/http-alternates", "remotes/", "branches/"}

// repositoryFiles are the same, parsed.
var repositoryFiles = sync.OnceValue(func() (all []repositoryFile) {
	for _, file := range inRepository {
		name, isDir := strings.CutSuffix(file, "/")
		all = append(all, repositoryFile{strings.Split(name, "/"), isDir})
	}
	return all
})

type repositoryFile struct {
	names []string
	isDir bool
}

// Git reports whether git obeys a file at an absolute path: a .git, configuration of the repository around the
// path, or what would make a directory a repository.
func Git(at string, exists Exists) bool {
	parts := split(at)
	if inside, found := insideGit(parts); found {
		return len(inside) == 0 || obeyedInside(inside)
	}
	dir, name := filepath.Split(at)
	switch {
	case strings.EqualFold(name, "HEAD"):
		if !exists(at) && (exists(dir+"objects") || exists(dir+"refs") || exists(dir+"commondir")) {
			return true
		}
	case strings.EqualFold(name, "objects"), strings.EqualFold(name, "refs"):
		if !exists(at) && exists(dir+"HEAD") {
			return true
		}
	case strings.EqualFold(name, "commondir"):
		if exists(dir + "HEAD") {
			return true
		}
	}
	for i := range parts {
		if (obeyedInside(parts[i:]) || operation(parts[i:]) != nil) && repository(join(parts[:i]), exists) {
			return true
		}
	}
	return false
}

// HoldsGit reports whether something that git obeys may be below a repository's directory, which then must not
// move.
func HoldsGit(at string, exists Exists) bool {
	parts := split(at)
	if inside, found := insideGit(parts); found {
		return holdsInside(inside)
	}
	dir, name := filepath.Split(at)
	return HasAny([]string{name}, "info", "objects") && repository(filepath.Clean(dir), exists)
}

// Vital reports whether a path is HEAD, the objects or the refs of a repository, without which git takes another
// directory for the repository. They may be replaced, but never be missing.
func Vital(at string, exists Exists) bool {
	dir, name := filepath.Split(at)
	if !HasAny([]string{name}, "HEAD", "objects", "refs") {
		return false
	}
	dir = filepath.Clean(dir)
	if inside, found := insideGit(split(dir)); found {
		return len(inside) == 0
	}
	return repository(dir, exists)
}

// repository reports whether git takes a directory for a repository.
func repository(dir string, exists Exists) bool {
	has := func(name string) bool { return exists(filepath.Join(dir, name)) }
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

func split(at string) []string {
	return strings.Split(strings.TrimPrefix(filepath.ToSlash(at), "/"), "/")
}

func join(parts []string) string { return string(filepath.Separator) + filepath.Join(parts...) }

func insideGit(parts []string) (inside []string, found bool) {
	for i := len(parts) - 1; i >= 0; i-- {
		if strings.EqualFold(parts[i], ".git") {
			return parts[i+1:], true
		}
	}
	return nil, false
}

// obeyedInside reports whether git takes configuration or programs from a path in the directory of a repository,
// submodule or worktree.
func obeyedInside(inside []string) bool {
	nested := inside[0] == "modules" || inside[0] == "worktrees"
	if nested && HasAny(inside, "refs", "logs") {
		return false
	}
	for _, file := range repositoryFiles() {
		for at := range inside {
			end := min(at+len(file.names), len(inside))
			if slices.Equal(inside[at:end], file.names) && (end == len(inside) || file.isDir && !sample(inside)) {
				return true
			}
			if !nested {
				break
			}
		}
	}
	return false
}

// Pattern returns a regular expression for Git's paths in a repository's directory, for a sandbox that knows only
// paths.
func Pattern() string {
	var all []string
	for _, place := range inRepository {
		name, isDir := strings.CutSuffix(place, "/")
		if name = regexp.QuoteMeta(name); isDir {
			name += "(/.*)?"
		}
		all = append(all, name)
	}
	for _, of := range operations {
		all = append(all, strings.ReplaceAll(regexp.QuoteMeta(of.dir+"/"+of.file), `\*`, "[a-z]*"))
	}
	slices.Sort(all)
	return `/\.git/((modules|worktrees)/.*/)?(` + strings.Join(all, "|") + `)$`
}

// sample reports whether a file is a sample hook, which git does not run.
func sample(inside []string) bool { return strings.HasSuffix(inside[len(inside)-1], ".sample") }

// holdsInside reports whether something that git obeys may be below a directory inside a repository's.
func holdsInside(inside []string) bool {
	if len(inside) == 0 {
		return true
	}
	last := inside[len(inside)-1]
	if inside[0] != "modules" && inside[0] != "worktrees" {
		name := strings.Join(inside, "/")
		return HasAny([]string{name}, "info", "objects", "objects/info", "rebase-merge", "rebase-apply", "sequencer")
	}
	if HasAny(inside, "refs", "logs") || HasAny(inside[:len(inside)-1], "objects") && last != "info" {
		return false
	}
	return !strings.HasSuffix(last, ".lock") && strings.ToUpper(last) != last && !slices.Contains(ordinary, last)
}

// ordinary are files that git itself replaces in a repository's directory, besides *.lock and upper-case names.
var ordinary = []string{"index", "packed-refs", "packed-refs.new", "shallow", "description", "gc.pid", "gc.log"}
