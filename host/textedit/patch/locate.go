package patch

import (
	"bytes"
	"slices"
	"strings"
)

// maxFuzz is how many lines of context at each end may be ignored.
const maxFuzz = 2

// fitter applies the hunks of one file in order.
type fitter struct {
	path  string
	lines []string
	out   bytes.Buffer
	// used is how many lines are copied or replaced already.
	used int
	// offset is how far the last hunk was from where it says.
	offset int
	// newLine counts the lines of out.
	newLine int
	placed  []Placement
}

// fit is a place where a hunk fits.
type fit struct {
	at, fuzz int
	// folded is true when line endings had to be made alike.
	folded bool
	// skipped are the lines at either end that were not compared.
	before, after int
}

// applyHunks gives the content of a file after the hunks.
func applyHunks(path string, data []byte, hunks []*Hunk) ([]byte, []Placement, error) {
	if len(hunks) == 0 {
		return data, nil, nil
	}
	f := &fitter{path: path, lines: fileLines(data)}
	f.out.Grow(len(data) + bytes.MinRead)
	for i, h := range hunks {
		found, ok := f.find(h)
		if !ok {
			return nil, nil, f.failure(i+1, h)
		}
		f.place(i+1, h, found)
	}
	f.copyUntil(len(f.lines))
	return f.out.Bytes(), f.placed, nil
}

// fileLines cuts a file into lines with their endings, which the last may
// lack.
func fileLines(data []byte) []string {
	lines := make([]string, 0, bytes.Count(data, []byte{'\n'})+1)
	for line := range strings.Lines(string(data)) {
		lines = append(lines, line)
	}
	return lines
}

// find looks for a hunk's old lines as the program patch does: at the line it
// names, moved as the hunk before was, then further and further away from
// there; then the same with less and less of its context.
func (f *fitter) find(h *Hunk) (fit, bool) {
	old := h.pick('-')
	before, after := h.context()
	for fuzz := 0; fuzz <= min(maxFuzz, max(before, after)); fuzz++ {
		for _, folded := range []bool{false, true} {
			if found, ok := f.locate(h, old, fit{fuzz: fuzz, folded: folded}); ok {
				return found, true
			}
		}
	}
	return fit{}, false
}

func (f *fitter) locate(h *Hunk, old []string, try fit) (fit, bool) {
	before, after := h.context()
	context := max(before, after)
	try.before, try.after = try.fuzz+before-context, try.fuzz+after-context
	guess := max(h.start(old)+f.offset, 0)
	last := len(f.lines) - len(old) + max(try.after, 0)
	switch {
	case len(old) == 0:
		try.at = min(max(guess, f.used), len(f.lines))
		return try, true
	case try.before < 0 && h.OldStart <= 1:
		// Less context before than after: the hunk belongs to the start.
		try.before = 0
		return try, f.used == 0 && f.matches(old, try)
	case try.after < 0:
		// Less context after than before: it belongs to the end.
		try.after = 0
		try.at = len(f.lines) - len(old)
		return try, try.at >= f.used && f.matches(old, try)
	}
	try.before = max(try.before, 0)
	for distance := 0; guess+distance <= last || guess-distance >= f.used; distance++ {
		for _, at := range []int{guess + distance, guess - distance} {
			if try.at = at; at >= f.used && at <= last && f.matches(old, try) {
				return try, true
			}
		}
	}
	return try, false
}

// start is where the hunk says that its old lines are, from 0.
func (h *Hunk) start(old []string) int {
	if len(old) > 0 {
		return h.OldStart - 1
	}
	return h.OldStart
}

func (f *fitter) matches(old []string, try fit) bool {
	for i := try.before; i < len(old)-try.after; i++ {
		at := try.at + i
		if at >= len(f.lines) || !same(f.lines[at], old[i], try.folded) {
			return false
		}
	}
	return true
}

func same(a, b string, folded bool) bool {
	return a == b || folded && bareLine(a) == bareLine(b)
}

// bareLine is a line without its ending.
func bareLine(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

func bare(lines []string) []string {
	list := make([]string, len(lines))
	for i, line := range lines {
		list[i] = bareLine(line)
	}
	return list
}

// place writes the file up to the hunk and then the hunk's new lines. Context
// is taken from the file; that after the last change is left to what follows.
func (f *fitter) place(number int, h *Hunk, found fit) {
	f.copyUntil(found.at)
	offset := found.at - h.start(h.pick('-'))
	if offset != 0 || found.fuzz > 0 || found.folded {
		f.placed = append(f.placed, Placement{
			Hunk: number, Line: f.newLine + 1, Offset: offset, Fuzz: found.fuzz, Endings: found.folded,
		})
	}
	f.offset = offset
	_, after := h.context()
	for _, l := range h.Lines[:len(h.Lines)-after] {
		switch l.Op {
		case '+':
			f.write(f.ending(l.Text, found))
		case '-':
			f.used++
		default:
			f.copyUntil(f.used + 1)
		}
	}
}

func (f *fitter) copyUntil(end int) {
	for ; f.used < end; f.used++ {
		f.write(f.lines[f.used])
	}
}

// write appends a line. One that comes after a line without an ending gives
// it the file's.
func (f *fitter) write(line string) {
	if written := f.out.Bytes(); len(written) > 0 && written[len(written)-1] != '\n' {
		f.out.WriteString(f.fileEnding())
	}
	f.out.WriteString(line)
	f.newLine++
}

// ending gives an added line the line ending of the file where only lines
// with other endings were found to match.
func (f *fitter) ending(text string, found fit) string {
	if !found.folded || !strings.HasSuffix(text, "\n") {
		return text
	}
	near := f.used
	for near > 0 && (near >= len(f.lines) || !strings.HasSuffix(f.lines[near], "\n")) {
		near--
	}
	return bareLine(text) + endingOf(f.lines[near:])
}

func (f *fitter) fileEnding() string { return endingOf(f.lines) }

func endingOf(lines []string) string {
	if len(lines) > 0 && strings.HasSuffix(lines[0], "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// failure tells where the hunk comes closest.
func (f *fitter) failure(number int, h *Hunk) error {
	old := h.pick('-')
	at := f.closest(h, old)
	found := f.lines[at:min(at+len(old), len(f.lines))]
	e := &HunkError{
		Path: f.path, Hunk: number, PatchLine: h.Line, FileLine: at + 1,
		Expected: bare(old), Found: bare(found), Applied: f.applied(h),
	}
	for i := range found {
		if !same(found[i], old[i], true) {
			e.FileLine = at + i + 1
			break
		}
	}
	return e.misfit()
}

// applied reports whether the new lines of the hunk are there already.
func (f *fitter) applied(h *Hunk) bool {
	if !slices.ContainsFunc(h.Lines, func(l Line) bool { return l.Op == '+' }) {
		return false
	}
	_, ok := f.locate(h, h.pick('+'), fit{folded: true})
	return ok
}

// closest gives the place where most of the old lines are, the one nearest to
// where the hunk should be among equals.
func (f *fitter) closest(h *Hunk, old []string) int {
	guess := min(max(h.start(old)+f.offset, 0), max(len(f.lines)-1, 0))
	where := map[string][]int{}
	for i, line := range old {
		if text := strings.TrimSpace(line); text != "" && len(where[text]) < maxVotes {
			where[text] = append(where[text], i)
		}
	}
	votes := map[int]int{}
	for at, line := range f.lines {
		for _, i := range where[strings.TrimSpace(line)] {
			if at-i >= 0 {
				votes[at-i]++
			}
		}
	}
	best := guess
	for at, n := range votes {
		better := n > votes[best] || n == votes[best] && (abs(at-guess) < abs(best-guess) || abs(at-guess) == abs(best-guess) && at < best)
		if better {
			best = at
		}
	}
	return best
}

// maxVotes bounds how often one line of a hunk counts.
const maxVotes = 8

func abs(n int) int { return max(n, -n) }
