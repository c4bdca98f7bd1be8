package agentfile

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/internal/files/realpath"
	"github.com/toolhost/toolhost/internal/matching"
)

// everything protects all files: what a glob cannot be made into otherwise.
const everything = "**"

// rebase makes globs that are relative to one directory relative to another.
// A glob that is about nothing in the other one is left out.
func rebase(globs []string, from, to string) (all []string) {
	from, errFrom := realpath.Of(from)
	to, errTo := realpath.Of(to)
	if len(globs) == 0 || errFrom == nil && errTo == nil && from == to {
		return globs
	}
	if errFrom != nil || errTo != nil {
		return []string{everything}
	}
	if realpath.Below(from, to) {
		rel, _ := filepath.Rel(to, from)
		for _, glob := range globs {
			all = append(all, matching.Literal(filepath.ToSlash(rel))+"/"+glob)
		}
		return all
	}
	if !realpath.Below(to, from) {
		return nil
	}
	rel, _ := filepath.Rel(from, to)
	for _, glob := range globs {
		all = append(all, within(glob, strings.Split(filepath.ToSlash(rel), "/"))...)
	}
	return all
}

// within gives what of a glob is about the files below the directory dir.
func within(glob string, dir []string) []string {
	if glob = strings.TrimPrefix(filepath.ToSlash(glob), "/"); strings.ContainsAny(glob, `{\`) {
		return []string{everything} // a brace may hold slashes
	}
	return remaining(strings.Split(glob, "/"), dir)
}

func remaining(glob, dir []string) (all []string) {
	switch {
	case len(glob) == 0: // it matches a directory above, and so what is in it
		return []string{everything}
	case len(dir) == 0:
		return []string{strings.Join(glob, "/")}
	case glob[0] == "**":
		all = append(all, strings.Join(glob, "/"))
		for i := range dir {
			all = append(all, remaining(glob[1:], dir[i:])...)
		}
		all = append(all, remaining(glob[1:], nil)...)
		slices.Sort(all)
		return slices.Compact(all)
	case matches(glob[0], dir[0]):
		return remaining(glob[1:], dir[1:])
	}
	return nil
}

// matches compares one component. Case does not matter to what is protected.
func matches(glob, name string) bool {
	ok, err := doublestar.Match(strings.ToLower(glob), strings.ToLower(name))
	return ok || err != nil
}
