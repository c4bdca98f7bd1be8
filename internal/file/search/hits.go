package search

import (
	"slices"
	"strings"
)

type fileHits struct {
	path  string
	count int
	// lines are the matches in mode Lines that can be among the results, without the first skip of the file.
	lines []Match
	size  int // of lines
	skip  int
}

// wants reports whether the last counted match can be among the results.
func (f *fileHits) wants(q Query) bool {
	return f.count > f.skip && len(f.lines) < wanted(q) && !q.full(f.size)
}

func (f *fileHits) add(m Match) {
	f.lines = append(f.lines, m)
	f.size += m.size()
}

// full reports whether results of that size reach the limit.
func (q *Query) full(size int) bool { return q.MaxBytes > 0 && size >= q.MaxBytes }

// resultSize is the approximate size of a result besides its texts.
const resultSize = 64

// size returns the approximate size of a match as JSON, in bytes.
func (m *Match) size() int {
	size := resultSize + len(m.Path) + len(m.Text)
	for _, lines := range [][]string{m.Before, m.After} {
		for _, line := range lines {
			size += len(line) + len(`"",`)
		}
	}
	return size
}

type hits struct {
	files    []fileHits
	searched int
	timedOut bool
}

func (h *hits) sort() {
	slices.SortFunc(h.files, func(a, b fileHits) int { return strings.Compare(a.path, b.path) })
}

func (h *hits) matches(q Query) *Matches {
	h.sort()
	m := &Matches{FilesMatched: len(h.files), FilesSearched: h.searched, TimedOut: h.timedOut}
	if q.Mode == Lines {
		h.takeLines(m, q)
	} else {
		h.takeFiles(m, q)
	}
	return m
}

func (h *hits) takeLines(m *Matches, q Query) {
	skip, most, size := q.Offset, wanted(q)-q.Offset, 0
	held := 0
	for i := range h.files {
		held += len(h.files[i].lines)
	}
	m.Lines = make([]Match, 0, min(held, most))
	full := false
	for _, f := range h.files {
		m.Total += f.count
		if skip >= f.count {
			skip -= f.count
			continue
		}
		lines := f.lines[min(skip-f.skip, len(f.lines)):]
		skip = 0
		for i := 0; i < len(lines) && len(m.Lines) < most && !full; i++ {
			size += lines[i].size()
			if full = len(m.Lines) > 0 && q.full(size-1); !full {
				m.Lines = append(m.Lines, lines[i])
			}
		}
	}
	m.Truncated = m.Total > q.Offset+len(m.Lines)
	m.Full = q.MaxBytes > 0 && m.Truncated && len(m.Lines) < most
}

func (h *hits) takeFiles(m *Matches, q Query) {
	m.Files = []File{}
	size := 0
	for i, f := range h.files {
		m.Total += f.count
		if i < q.Offset || i >= wanted(q) || m.Full {
			continue
		}
		size += resultSize + len(f.path)
		if m.Full = len(m.Files) > 0 && q.full(size-1); m.Full {
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

// wanted returns how many results, from the first on, must be known.
func wanted(q Query) int {
	const all = int(^uint(0) >> 1)
	if q.Max <= 0 || q.Offset > all-q.Max {
		return all
	}
	return q.Offset + q.Max
}

// kept is the number and size of lines held until the results are selected.
type kept struct{ lines, size int }

func (k *kept) add(f *fileHits) {
	k.lines += len(f.lines)
	k.size += f.size
}

// many reports whether more is held than needed, by a factor.
func (k *kept) many(q Query, factor int) bool {
	return k.lines/factor > wanted(q) || q.full(k.size/factor)
}

// prune drops lines that cannot be among the results and keeps the counts. files are in order of
// path.
func (k *kept) prune(files []fileHits, q Query) {
	*k = kept{}
	for i := range files {
		if k.lines >= wanted(q) || q.full(k.size) {
			files[i].lines, files[i].size = nil, 0
		}
		k.add(&files[i])
	}
}
