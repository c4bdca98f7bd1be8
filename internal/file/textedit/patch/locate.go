package patch

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// maxFuzz limits the ignored lines of context at each end.
const maxFuzz = 2

type fitter struct {
	path string
	file content
	crlf bool // all lines of the file end with CR LF
	out  []byte
	// used is how many lines have been copied or replaced.
	used int
	// offset is the distance of the last hunk from its stated line.
	offset  int
	newLine int
	placed  []Placement
}

type fit struct {
	at, fuzz int
	// folded is set if line endings had to be converted.
	folded bool
	// before and after are the lines at either end that were not compared.
	before, after int
}

func applyHunks(path string, data []byte, hunks []*Hunk) ([]byte, []Placement, error) {
	if len(hunks) == 0 {
		return data, nil, nil
	}
	f := &fitter{path: path, file: newContent(data), out: make([]byte, 0, len(data)+added(hunks))}
	breaks := strings.Count(f.file.text, "\r\n")
	f.crlf = breaks > 0 && breaks == strings.Count(f.file.text, "\n")
	for i, h := range hunks {
		old := h.pick('-')
		found, ok := f.find(h, old)
		if !ok {
			return nil, nil, f.failure(i+1, h, old)
		}
		f.place(i+1, h, old, found)
	}
	f.copyUntil(f.file.count)
	return f.out, f.placed, nil
}

// added returns how many bytes the hunks add at most.
func added(hunks []*Hunk) (size int) {
	for _, h := range hunks {
		for _, l := range h.Lines {
			if l.Op == '+' {
				size += len(l.Text)
			}
		}
	}
	return size
}

// find looks for a hunk's old lines as the program patch does: at its stated line, shifted like the previous
// hunk, then further and further away; then the same with less and less context.
func (f *fitter) find(h *Hunk, old []string) (fit, bool) {
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
	guess := max(h.start(len(old))+f.offset, 0)
	last := f.file.count - len(old) + max(try.after, 0)
	switch {
	case len(old) == 0:
		try.at = min(max(guess, f.used), f.file.count)
		return try, true
	case try.before < 0 && h.OldStart <= 1:
		// Less context before than after: the hunk is at the file's start.
		try.before = 0
		return try, f.used == 0 && f.matches(old, try)
	case try.after < 0:
		// Less context after than before: it is at the end.
		try.after = 0
		try.at = f.file.count - len(old)
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

// start returns the stated start of the hunk's old lines, from 0.
func (h *Hunk) start(old int) int {
	if old > 0 {
		return h.OldStart - 1
	}
	return h.OldStart
}

func (f *fitter) matches(old []string, try fit) bool {
	for i := try.before; i < len(old)-try.after; i++ {
		at := try.at + i
		if at >= f.file.count || !same(f.file.line(at), old[i], try.folded) {
			return false
		}
	}
	return true
}

func same(a, b string, folded bool) bool {
	return a == b || folded && bareLine(a) == bareLine(b)
}

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

// place writes the file up to the hunk and then the hunk's new lines. Context comes from the file; that after the
// last change is left to the next write.
func (f *fitter) place(number int, h *Hunk, old []string, found fit) {
	f.copyUntil(found.at)
	offset := found.at - h.start(len(old))
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
			f.write(f.ending(l.Text, old, found), 1)
		case '-':
			f.used++
		default:
			f.copyUntil(f.used + 1)
		}
	}
}

func (f *fitter) copyUntil(end int) {
	if f.used < end {
		f.write(f.file.lines(f.used, end), end-f.used)
		f.used = end
	}
}

// write appends lines. A preceding line without an ending gets the file's.
func (f *fitter) write(lines string, count int) {
	if n := len(f.out); n > 0 && f.out[n-1] != '\n' {
		f.out = append(f.out, endingOf(f.file.line(0))...)
	}
	f.out = append(f.out, lines...)
	f.newLine += count
}

// ending returns an added line with the file's line ending if only lines with other endings matched, or if all lines of
// the file end with CR LF and no old line of the hunk does: one that does shows that the hunk's endings are meant.
func (f *fitter) ending(text string, old []string, found fit) string {
	shows := func(line string) bool { return strings.HasSuffix(line, "\r\n") }
	if !strings.HasSuffix(text, "\n") || !found.folded && (!f.crlf || slices.ContainsFunc(old, shows)) {
		return text
	}
	near := f.used
	for near > 0 && !strings.HasSuffix(f.file.line(near), "\n") {
		near--
	}
	return bareLine(text) + endingOf(f.file.line(near))
}

func endingOf(line string) string {
	if strings.HasSuffix(line, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

func (f *fitter) failure(number int, h *Hunk, old []string) error {
	lines := cut(f.file.text)
	at := f.closest(h, old, lines)
	found := lines[at:min(at+len(old), len(lines))]
	e := &HunkError{
		Path: f.path, Hunk: number, PatchLine: h.Line, FileLine: at + 1,
		Expected: bare(old), Found: bare(found), Applied: f.applied(h),
	}
	for i := range found {
		if !same(found[i], old[i], true) {
			e.FileLine = at + i + 1
			return e.misfit()
		}
	}
	if at < f.used && len(found) == len(old) {
		e.err = e.about(tool.Errorf(tool.Conflict, "hunk %d of %s (line %d of the patch) is out of order: its lines are at "+
			"line %d, before those of the hunk ahead of it", e.Hunk, e.Path, e.PatchLine, e.FileLine).
			Suggest("Put the hunks of a file in the order of its lines, each line in one hunk only. Nothing was changed."))
		return e
	}
	return e.misfit()
}

// applied reports whether the new lines of the hunk are already there, with all context.
func (f *fitter) applied(h *Hunk) bool {
	if !slices.ContainsFunc(h.Lines, func(l Line) bool { return l.Op == '+' }) {
		return false
	}
	text := h.pick('+')
	for at := f.used; at <= f.file.count-len(text); at++ {
		if f.matches(text, fit{at: at, folded: true}) {
			return true
		}
	}
	return false
}

// closest returns the place with most of the old lines, the nearest to the stated one among equals.
func (f *fitter) closest(h *Hunk, old, lines []string) int {
	guess := min(max(h.start(len(old))+f.offset, 0), max(len(lines)-1, 0))
	where := map[string][]int{}
	for i, line := range old {
		if text := strings.TrimSpace(line); text != "" && len(where[text]) < maxVotes {
			where[text] = append(where[text], i)
		}
	}
	votes := map[int]int{}
	for at, line := range lines {
		for _, i := range where[strings.TrimSpace(line)] {
			if at-i >= 0 {
				votes[at-i]++
			}
		}
	}
	best := guess
	for at, n := range votes {
		better := n > votes[best] ||
			n == votes[best] && (abs(at-guess) < abs(best-guess) || abs(at-guess) == abs(best-guess) && at < best)
		if better {
			best = at
		}
	}
	return best
}

const maxVotes = 8

func abs(n int) int { return max(n, -n) }
