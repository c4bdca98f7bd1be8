package search

import (
	"slices"
	"strings"
)

// fileHits is what was found in one file.
type fileHits struct {
	path  string
	count int
	// lines are the matches in mode Lines, or the first of them when more
	// cannot be among the results.
	lines []Match
}

// hits is what an engine found.
type hits struct {
	files    []fileHits
	searched int
	timedOut bool
	engine   Engine
}

func (h *hits) sort() {
	slices.SortFunc(h.files, func(a, b fileHits) int { return strings.Compare(a.path, b.path) })
}

// matches cuts out what the query wants to have returned.
func (h *hits) matches(q Query) *Matches {
	h.sort()
	m := &Matches{FilesMatched: len(h.files), FilesSearched: h.searched, TimedOut: h.timedOut, Engine: h.engine}
	if q.Mode == Lines {
		h.takeLines(m, q)
	} else {
		h.takeFiles(m, q)
	}
	return m
}

func (h *hits) takeLines(m *Matches, q Query) {
	skip, room := q.Offset, wanted(q)-q.Offset
	m.Lines = []Match{}
	for _, f := range h.files {
		m.Total += f.count
		lines := f.lines
		if skip >= f.count {
			skip -= f.count
			continue
		}
		lines, skip = lines[min(skip, len(lines)):], 0
		lines = lines[:min(len(lines), room-len(m.Lines))]
		m.Lines = append(m.Lines, lines...)
	}
	m.Truncated = m.Total > q.Offset+len(m.Lines)
}

func (h *hits) takeFiles(m *Matches, q Query) {
	m.Files = []File{}
	for i, f := range h.files {
		m.Total += f.count
		if i < q.Offset || i >= wanted(q) {
			continue
		}
		file := File{Path: f.path, Lines: f.count}
		if q.Mode == Files {
			file.Lines = 0
		}
		m.Files = append(m.Files, file)
	}
	if q.Mode == Files {
		m.Total = len(h.files)
	}
	m.Truncated = len(h.files) > q.Offset+len(m.Files)
}

// wanted is how many results, from the first on, have to be known.
func wanted(q Query) int {
	const all = int(^uint(0) >> 1)
	if q.Max <= 0 || q.Offset > all-q.Max {
		return all
	}
	return q.Offset + q.Max
}

// prune forgets lines that cannot be among the results, keeping the counts,
// when there are many more than needed. files are in order of path.
func prune(files []fileHits, most int) (kept int) {
	for i := range files {
		if kept >= most {
			files[i].lines = nil
		}
		kept += len(files[i].lines)
	}
	return kept
}
