package textedit

import "bytes"

// group is a run of changed lines [start:end] of a side, which may be empty:
// there is one before each unchanged line and one at the end.
type group struct{ start, end int }

func (s *side) firstGroup() group {
	g := group{}
	for s.changed[g.end] {
		g.end++
	}
	return g
}

// next moves g to the following group, and reports false at the last one.
func (s *side) next(g *group) bool {
	if g.end == len(s.lines) {
		return false
	}
	g.start = g.end + 1
	for g.end = g.start; s.changed[g.end]; {
		g.end++
	}
	return true
}

// previous moves g to the group before.
func (s *side) previous(g *group) {
	if g.start == 0 {
		return
	}
	g.end = g.start - 1
	for g.start = g.end; g.start > 0 && s.changed[g.start-1]; {
		g.start--
	}
}

// slideUp moves a group one line up where the texts stay the same, joining it
// with a group that it then touches.
func (s *side) slideUp(g *group) bool {
	if g.start == 0 || !bytes.Equal(s.lines[g.start-1], s.lines[g.end-1]) {
		return false
	}
	g.start, g.end = g.start-1, g.end-1
	s.changed[g.start], s.changed[g.end] = true, false
	for g.start > 0 && s.changed[g.start-1] {
		g.start--
	}
	return true
}

func (s *side) slideDown(g *group) bool {
	if g.end == len(s.lines) || !bytes.Equal(s.lines[g.start], s.lines[g.end]) {
		return false
	}
	s.changed[g.start], s.changed[g.end] = false, true
	g.start, g.end = g.start+1, g.end+1
	for s.changed[g.end] {
		g.end++
	}
	return true
}

// compact slides each group of changes of s to where people read it best:
// beside a change of the other side, else where indentation and blank lines
// suggest a boundary (if that is asked for), else as far down as it goes.
func compact(s, other *side, where placement) {
	g, o := s.firstGroup(), other.firstGroup()
	for more := true; more; more = s.next(&g) && other.next(&o) {
		if g.end > g.start {
			settle(s, other, &g, &o, where)
		}
	}
}

func settle(s, other *side, g, o *group, where placement) {
	top, beside := swing(s, other, g, o)
	switch {
	case g.end == top:
	case beside >= 0:
		for o.end == o.start {
			s.slideUp(g)
			other.previous(o)
		}
	case where == readable:
		for best := s.bestEnd(*g, top); g.end > best; {
			s.slideUp(g)
			other.previous(o)
		}
	}
}

// swing slides the group up and then down as far as possible, again whenever
// it has grown. It leaves it at the bottom and tells its highest end, and its
// lowest end beside a change of the other side, -1 when there is none.
func swing(s, other *side, g, o *group) (top, beside int) {
	for {
		size := g.end - g.start
		beside = -1
		for s.slideUp(g) {
			other.previous(o)
		}
		top = g.end
		if o.end > o.start {
			beside = g.end
		}
		for s.slideDown(g) {
			other.next(o)
			if o.end > o.start {
				beside = g.end
			}
		}
		if size == g.end-g.start {
			return top, beside
		}
	}
}

const (
	maxSlide  = 100
	maxIndent = 200
	maxBlanks = 20
)

// bestEnd gives the end, from top to g.end, that reads best.
func (s *side) bestEnd(g group, top int) int {
	size := g.end - g.start
	best, bestScore := -1, splitScore{}
	for end := max(top, g.end-size-1, g.end-maxSlide); end <= g.end; end++ {
		var score splitScore
		score.add(s.measure(end))
		score.add(s.measure(end - size))
		if best < 0 || score.compare(bestScore) <= 0 {
			best, bestScore = end, score
		}
	}
	return best
}

// surroundings are what is around a place between two lines. An indent of -1
// means that there is no such line.
type surroundings struct {
	atEnd                            bool
	indent, indentAbove, indentBelow int
	blanksAbove, blanksBelow         int
}

func (s *side) measure(at int) surroundings {
	m := surroundings{atEnd: at >= len(s.lines), indent: -1}
	if !m.atEnd {
		m.indent = indent(s.lines[at])
	}
	m.indentAbove, m.blanksAbove = s.look(at-1, -1)
	m.indentBelow, m.blanksBelow = s.look(at+1, 1)
	return m
}

// look finds the indent of the first line that is not blank, and how many
// blank ones come before it.
func (s *side) look(i, step int) (depth, blanks int) {
	for ; i >= 0 && i < len(s.lines); i += step {
		if depth = indent(s.lines[i]); depth >= 0 {
			return depth, blanks
		}
		if blanks++; blanks == maxBlanks {
			return 0, blanks
		}
	}
	return -1, blanks
}

// indent measures a line's indentation in columns; -1 for a blank line.
func indent(line []byte) int {
	depth := 0
	for _, c := range line {
		switch c {
		case ' ':
			depth++
		case '\t':
			depth += 8 - depth%8
		case '\n', '\r':
		default:
			return depth
		}
		if depth >= maxIndent {
			return maxIndent
		}
	}
	return -1
}

// splitScore tells how bad a place is for the edge of a group.
type splitScore struct{ indent, penalty int }

// The weights are git's, found by its authors on a corpus of real changes.
const (
	penaltyStart          = 1
	penaltyEnd            = 21
	weightBlank           = -30
	weightBlankBelow      = 6
	penaltyDeeper         = -4
	penaltyDeeperBlank    = 10
	penaltyOutdent        = 24
	penaltyOutdentBlank   = 17
	penaltyShallower      = 23
	penaltyShallowerBlank = 17
	weightIndent          = 60
)

func (s *splitScore) add(m surroundings) {
	if m.indentAbove < 0 && m.blanksAbove == 0 {
		s.penalty += penaltyStart
	}
	if m.atEnd {
		s.penalty += penaltyEnd
	}
	below, depth := 0, m.indent
	if m.indent < 0 {
		below, depth = 1+m.blanksBelow, m.indentBelow
	}
	blanks := m.blanksAbove + below
	s.penalty += weightBlank*blanks + weightBlankBelow*below
	s.indent += depth
	if depth >= 0 && m.indentAbove >= 0 {
		s.penalty += relative(depth, m, blanks > 0)
	}
}

// relative is the penalty of a change of indentation.
func relative(depth int, m surroundings, blank bool) int {
	pick := func(plain, withBlank int) int {
		if blank {
			return withBlank
		}
		return plain
	}
	switch {
	case depth > m.indentAbove:
		return pick(penaltyDeeper, penaltyDeeperBlank)
	case depth == m.indentAbove:
		return 0
	case m.indentBelow > depth:
		return pick(penaltyOutdent, penaltyOutdentBlank)
	default:
		return pick(penaltyShallower, penaltyShallowerBlank)
	}
}

func (s splitScore) compare(t splitScore) int {
	order := 0
	if s.indent > t.indent {
		order = 1
	} else if s.indent < t.indent {
		order = -1
	}
	return weightIndent*order + s.penalty - t.penalty
}
