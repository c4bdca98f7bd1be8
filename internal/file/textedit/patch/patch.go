// Package patch reads unified diffs and applies them in memory: what git and
// diff write exactly, and what people and models write with the tolerance of
// the program patch and some more. It touches no file: contents come from a
// function, results go to the caller.
package patch

import "io/fs"

// Kind is what happens to a file.
type Kind string

// The kinds of changes.
const (
	Modify Kind = "modify"
	Create Kind = "create"
	Delete Kind = "delete"
	Rename Kind = "rename"
	Copy   Kind = "copy"
)

// Set is a parsed patch.
type Set struct {
	Files []*File
}

// File is the part of a patch that is about one file.
type File struct {
	// Line is where it begins in the patch, from 1.
	Line int
	Kind Kind
	// OldName and NewName are the names of the header with their prefixes, ""
	// where there is none or it is /dev/null. Those of a rename or copy have
	// no prefix.
	OldName, NewName string
	// IndexName is the name of an "Index:" line before the header.
	IndexName string
	// Executable is the new mode's executable bit, nil where the patch does
	// not name a mode.
	Executable *bool
	Hunks      []*Hunk

	// git is true for a section with a "diff --git" line.
	git bool
	// special is true for a symbolic link or a submodule.
	special bool
}

// Hunk is one change with its surroundings.
type Hunk struct {
	// Line is where it begins in the patch, from 1.
	Line int
	// OldStart is the first line that it names of the old file, from 1; with no
	// lines, the line before. It is a hint.
	OldStart int
	Lines    []Line
}

// Line is one line of a hunk.
type Line struct {
	// Op is ' ', '-' or '+'.
	Op byte
	// Text includes the line ending, unless the file ends without one.
	Text string
}

// FileChange is what a patch makes of one file.
type FileChange struct {
	Kind Kind
	// Path is the file as the patch names it, without a prefix. For Rename
	// and Copy it is the new name, and From the old one.
	Path, From string
	// Old and Data are the content before and after. Old is nil for Create,
	// Data for Delete. For Rename and Copy, Old is the content of From.
	Old, Data []byte
	// Mode is the new mode, permission bits only; 0 keeps the old one, and
	// for Create means the usual one.
	Mode fs.FileMode
	// Placed reports the hunks that did not fit at the line that they name.
	Placed []Placement
}

// Placement says where a hunk was applied, when not where it says.
type Placement struct {
	// Hunk counts from 1.
	Hunk int
	// Line is where it was applied in the new file; Offset is the distance
	// from the line expected, and Fuzz how many lines of context at each end
	// were ignored.
	Line, Offset, Fuzz int
	// Endings is true when line endings had to be made alike.
	Endings bool
}

// Paths lists all names that changes touch, both of a rename, sorted and
// without duplicates.
func Paths(changes []FileChange) []string {
	var list []string
	for _, c := range changes {
		list = append(list, c.Path)
		if c.Kind == Rename {
			list = append(list, c.From)
		}
	}
	return sortedSet(list)
}

// pick gives the context lines together with those of one kind.
func (h *Hunk) pick(op byte) []string {
	var list []string
	for _, l := range h.Lines {
		if l.Op == ' ' || l.Op == op {
			list = append(list, l.Text)
		}
	}
	return list
}

// context counts the unchanged lines at the start and at the end.
func (h *Hunk) context() (before, after int) {
	n := len(h.Lines)
	for before < n && h.Lines[before].Op == ' ' {
		before++
	}
	for after < n-before && h.Lines[n-1-after].Op == ' ' {
		after++
	}
	return before, after
}
