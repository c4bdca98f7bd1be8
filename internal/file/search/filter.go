package search

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
)

type filter struct {
	include, exclude []glob
	types            []string // globs of names
}

// glob is a pattern for the name alone or the path below the searched directory.
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

func (g glob) all() bool {
	return g.pattern == "**" || g.pattern == "**/*" || g.pattern == "*" && g.name
}

func (g glob) matches(rel string) bool {
	if g.name {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(g.pattern, rel)
}

// wants reports whether a file is selected; rel is its path below the searched directory.
func (f *filter) wants(rel string) bool {
	isType := func(pattern string) bool { return doublestar.MatchUnvalidated(pattern, path.Base(rel)) }
	if len(f.types) > 0 && !slices.ContainsFunc(f.types, isType) {
		return false
	}
	if len(f.include) > 0 && !anyMatch(f.include, rel) {
		return false
	}
	return !anyMatch(f.exclude, rel)
}

func anyMatch(globs []glob, rel string) bool {
	for _, g := range globs {
		if g.matches(rel) {
			return true
		}
	}
	return false
}
