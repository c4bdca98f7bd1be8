package search

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
)

// filter decides by name which files are searched.
type filter struct {
	include, exclude []glob
	types            []string // globs of names
	// names are globs that ripgrep can be given to do the same, when simple.
	names  []string
	simple bool
}

// glob is one pattern, about the name alone or the whole path below the
// directory that is searched.
type glob struct {
	pattern string
	name    bool
}

func newFilter(q Query) (*filter, error) {
	f := &filter{}
	for _, text := range q.Globs {
		if err := f.add(text); err != nil {
			return nil, err
		}
	}
	for _, name := range q.Types {
		f.types = append(f.types, globsOf(name)...)
	}
	f.simplify(len(q.Types) > 0)
	return f, nil
}

func (f *filter) add(text string) error {
	pattern, excluded := strings.CutPrefix(text, "!")
	anchored := strings.HasPrefix(pattern, "/")
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "/"), "./")
	if pattern == "" || !doublestar.ValidatePattern(pattern) {
		return tool.Errorf(tool.InvalidArgument, "the glob %q does not parse", text).
			Suggest("Close its brackets and braces. Examples: *.go, src/**/*.ts, !*_test.go.").With("pattern", text)
	}
	g := glob{pattern: pattern, name: !anchored && !strings.Contains(pattern, "/")}
	if excluded {
		f.exclude = append(f.exclude, g)
	} else if !g.all() {
		f.include = append(f.include, g)
	} else {
		f.include = append(f.include, glob{"*", true})
	}
	return nil
}

// all reports a glob that every path matches.
func (g glob) all() bool {
	return g.pattern == "**" || g.pattern == "**/*" || g.pattern == "*" && g.name
}

func (g glob) matches(rel string) bool {
	if g.name {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(g.pattern, rel)
}

// wants decides about a file, rel being its path below the directory that is
// searched.
func (f *filter) wants(rel string) bool {
	if len(f.types) > 0 && !f.isType(path.Base(rel)) {
		return false
	}
	if len(f.include) > 0 && !anyMatch(f.include, rel) {
		return false
	}
	return !anyMatch(f.exclude, rel)
}

func (f *filter) isType(name string) bool {
	for _, pattern := range f.types {
		if doublestar.MatchUnvalidated(pattern, name) {
			return true
		}
	}
	return false
}

func anyMatch(globs []glob, rel string) bool {
	for _, g := range globs {
		if g.matches(rel) {
			return true
		}
	}
	return false
}

// simplify finds out whether the filter is one list of globs about names.
func (f *filter) simplify(typed bool) {
	if len(f.exclude) > 0 || typed && len(f.include) > 0 {
		return
	}
	f.simple = true
	if typed {
		f.names = f.types
		return
	}
	for _, g := range f.include {
		if g.all() {
			f.names, f.simple = nil, true
			return
		}
		name, deep := strings.CutPrefix(g.pattern, "**/")
		if !deep && !g.name || !plainName(name) {
			f.simple = false
		}
		f.names = append(f.names, name)
	}
}

// plainName reports a glob that means the same to ripgrep: characters, * and ?
// about a name.
func plainName(pattern string) bool {
	for i := range len(pattern) {
		c := pattern[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && !strings.ContainsRune("._-+*?", rune(c)) {
			return false
		}
	}
	return !strings.Contains(pattern, "**")
}
