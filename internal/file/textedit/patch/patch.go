// Package patch parses unified diffs and applies them in memory: those of git and diff exactly, and those of people
// and models at least as tolerantly as the program patch. It accesses no files: contents come from a function,
// results go to the caller.
package patch

import (
	"io/fs"
	"slices"
)

// Kind is the kind of a file's change.
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

// File is the part of a patch about one file.
type File struct {
	// Line is where the part starts in the patch, from 1.
	Line int
	Kind Kind
	// OldName and NewName are the header's names with their prefixes, "" if missing or /dev/null. Those of a
	// rename or copy have no prefix.
	OldName, NewName string
	// IndexName is the name of an "Index:" line before the header.
	IndexName string
	// Executable is the new mode's executable bit, nil if the patch has no mode.
	Executable *bool
	Hunks      []*Hunk

	// git is set for a section with a "diff --git" line.
	git bool
	// special is set for a symbolic link or a submodule.
	special bool
}

// Hunk is one change with its context.
type Hunk struct {
	// Line is where the hunk starts in the patch, from 1.
	Line int
	// OldStart is its first line of the old file, from 1; without lines, the line before. It is a hint.
	OldStart int
	Lines    []Line
}

// Line is a line of a hunk.
type Line struct {
	// Op is ' ', '-' or '+'.
	Op byte
	// Text includes the line ending, unless the file ends without one.
	Text string
}

// FileChange is the change of one file.
type FileChange struct {
	Kind Kind
	// Path is the file in the patch, without a prefix. For Rename and Copy it is the new name, From the old
	// one. For Modify, From is the file whose content this one got, if any.
	Path, From string
	// Old and Data are the content before and after. Old is nil for Create, Data for Delete. For Rename and Copy,
	// Old is the content of From.
	Old, Data []byte
	// Mode is the new mode, permission bits only; 0 keeps the old one, and for Create means the default.
	Mode fs.FileMode
	// Placed has the hunks that did not fit at their stated line.
	Placed []Placement
}

// Placement is where a hunk was applied, if not at its stated line.
type Placement struct {
	// Hunk counts from 1.
	Hunk int
	// Line is where it was applied in the new file; Offset is the distance from the expected line, and Fuzz the
	// lines of context ignored at each end.
	Line, Offset, Fuzz int
	// Endings is set if line endings had to be converted.
	Endings bool
}

// Paths returns all names that changes touch, both of a rename, sorted and without duplicates.
func Paths(changes []FileChange) []string {
	var list []string
	for _, c := range changes {
		list = append(list, c.Path)
		if c.Kind == Rename {
			list = append(list, c.From)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// pick returns the context lines and those of one kind.
func (h *Hunk) pick(op byte) []string {
	var list []string
	for _, l := range h.Lines {
		if l.Op == ' ' || l.Op == op {
			list = append(list, l.Text)
		}
	}
	return list
}

// context counts the unchanged lines at the start and end.
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
