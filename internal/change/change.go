// Package change describes a set of changed files briefly.
package change

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// MostNames limits the names in a list of paths.
const MostNames = 20

// Group is a path, or a directory that stands for several paths below it.
type Group struct {
	Path  string
	Count int
}

// String returns the path, or the directory with the number of its paths.
func (g Group) String() string {
	if g.Count > 1 {
		return fmt.Sprintf("%s (%s)", g.Path, Number(g.Count))
	}
	return g.Path
}

// Fold returns at most MostNames groups for sorted paths, as deep as possible, and how many paths are in none. Git's
// own files are one group.
func Fold(paths []string) (groups []Group, more int) {
	depth := 1
	for _, p := range paths {
		depth = max(depth, strings.Count(p, "/")+1)
	}
	for ; depth > 0; depth-- {
		if groups = foldAt(paths, depth); len(groups) <= MostNames {
			return groups, 0
		}
	}
	for _, g := range groups[MostNames:] {
		more += g.Count
	}
	return groups[:MostNames], more
}

func foldAt(paths []string, depth int) (groups []Group) {
	at := make(map[string]int)
	for _, p := range paths {
		name := p
		parts := strings.Split(p, "/")
		if i := slices.Index(parts, ".git"); i >= 0 && i < len(parts)-1 {
			parts = parts[:i+1]
			name = path.Join(parts...) + "/"
		}
		if len(parts) > depth {
			name = strings.Join(parts[:depth], "/") + "/"
		}
		if i, ok := at[name]; ok {
			groups[i].Count++
			continue
		}
		at[name] = len(groups)
		groups = append(groups, Group{name, 1})
	}
	return groups
}

// Bounded returns sorted paths or, if there are more than MostNames, their directories.
func Bounded(paths []string) []string {
	if len(paths) <= MostNames {
		return paths
	}
	groups, _ := Fold(paths)
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.Path
	}
	return names
}

// Names returns a list of sorted paths for people, of limited length.
func Names(paths []string) string {
	groups, more := Fold(paths)
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.String()
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("and %s more", Number(more)))
	}
	return strings.Join(names, ", ")
}

// Key is a result's metadata key for Told, NotKept the key for what cannot be undone.
const (
	Key     = "changed"
	NotKept = "not_kept"
)

// undoHint precedes the call's ID at the end of Told.
const undoHint = "; undo: toolhost undo "

// Told returns for the caller what a call changed, and how to undo it. The paths are sorted.
func Told(paths []string, call string) string {
	return fmt.Sprintf("%s changed: %s", Summary{Paths: len(paths)}, Names(paths)) + undoHint + call
}

// WithoutUndo returns Told's text without how to undo it, for callers whose users cannot.
func WithoutUndo(told, call string) string { return strings.TrimSuffix(told, undoHint+call) }

// Summary counts changes.
type Summary struct {
	Paths int `json:"paths"`
	// Added and Removed count lines of comparable texts.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
	// Renamed counts paths that were moved with their content.
	Renamed int `json:"renamed,omitempty"`
	// Partial is set if there are more lines than are counted.
	Partial bool `json:"partial,omitempty"`
}

// Cut is the last line of a diff that is not whole.
const Cut = "(more changes are not shown)\n"

// String returns a text for people: "5 paths, +3 -7, 1 renamed", or "5 paths, at least +3 -7".
func (s Summary) String() string {
	text := Number(s.Paths) + " paths"
	if s.Paths == 1 {
		text = "1 path"
	}
	if s.Added+s.Removed > 0 {
		text += ", "
		if s.Partial {
			text += "at least "
		}
		text += fmt.Sprintf("+%s -%s", Number(s.Added), Number(s.Removed))
	}
	if s.Renamed > 0 {
		text += fmt.Sprintf(", %s renamed", Number(s.Renamed))
	}
	return text
}

// CountDiff adds the lines of a unified diff to a summary.
func (s *Summary) CountDiff(diff string) {
	old, is := 0, 0 // lines left of a hunk
	for line := range strings.Lines(diff) {
		switch {
		case old+is <= 0:
			old, is = hunk(line)
			s.Partial = s.Partial || line == Cut
		case line[0] == '+':
			is, s.Added = is-1, s.Added+1
		case line[0] == '-':
			old, s.Removed = old-1, s.Removed+1
		case line[0] == ' ' || line[0] == '\n':
			old, is = old-1, is-1
		}
	}
}

func hunk(line string) (old, is int) {
	sides := strings.Fields(line)
	if len(sides) < 4 || sides[0] != "@@" {
		return 0, 0
	}
	count := func(side string) int {
		if _, lines, ok := strings.Cut(side, ","); ok {
			n, _ := strconv.Atoi(lines)
			return n
		}
		return 1
	}
	return count(sides[1]), count(sides[2])
}

// Number formats a number with its thousands separated.
func Number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
