package textedit

import (
	"bytes"
	"slices"
)

// Labels name the two sides in the marks of a conflict.
type Labels struct{ Ours, Theirs string }

// Merge makes in ours the changes that lead from base to theirs, as git
// merge-file does: byte for byte, with the same marks where both have changed the
// same lines. conflicts is how many such places there are.
func Merge(base, ours, theirs []byte, names Labels) (merged []byte, conflicts int) {
	m := merging{ours: compare(base, ours, lowest), theirs: compare(base, theirs, lowest), names: names}
	one, other := m.ours.changes(), m.theirs.changes()
	switch {
	case len(one) == 0:
		return theirs, 0
	case len(other) == 0:
		return ours, 0
	}
	m.join(one, other)
	m.refine()
	m.gather()
	return m.write()
}

// merging is a merge on its way.
type merging struct {
	ours, theirs comparison
	names        Labels
	parts        []part
}

// from says which side a part of the result comes from.
type from byte

const (
	fromBoth   from = iota // a conflict
	fromOurs               // nothing has to be done
	fromTheirs             // theirs takes the place of ours
	fromEither             // a conflict that turned out to be none
)

// stretch is a run of lines [start:end].
type stretch struct{ start, end int }

func (s stretch) empty() bool { return s.start == s.end }

// part is where a side differs from the base: the lines of the base, and those of
// both sides that belong to them.
type part struct {
	who                from
	base, ours, theirs stretch
}

// join lists the parts of both lists of changes. What the two sides have changed
// alike is none.
func (m *merging) join(one, other []change) {
	shiftOurs := func(c change) int { return c.b1 - c.a1 }
	before, beforeOther := 0, 0 // how far behind their base both sides are
	for len(one) > 0 || len(other) > 0 {
		switch {
		case len(other) == 0 || len(one) > 0 && one[0].a1 < other[0].a0:
			c := one[0]
			m.add(part{fromOurs, stretch{c.a0, c.a1}, stretch{c.b0, c.b1}, stretch{c.a0 + beforeOther, c.a1 + beforeOther}})
			before, one = shiftOurs(c), one[1:]
			continue
		case len(one) == 0 || other[0].a1 < one[0].a0:
			c := other[0]
			m.add(part{fromTheirs, stretch{c.a0, c.a1}, stretch{c.a0 + before, c.a1 + before}, stretch{c.b0, c.b1}})
			beforeOther, other = shiftOurs(c), other[1:]
			continue
		}
		x, y := one[0], other[0]
		if !m.alike(x, y) {
			m.add(around(x, y))
		}
		if x.a1 >= y.a1 {
			beforeOther, other = shiftOurs(y), other[1:]
		}
		if y.a1 >= x.a1 {
			before, one = shiftOurs(x), one[1:]
		}
	}
}

// alike reports two changes that do the same to the same lines.
func (m *merging) alike(x, y change) bool {
	return x.a0 == y.a0 && x.a1 == y.a1 &&
		equalLines(m.ours.new.lines[x.b0:x.b1], m.theirs.new.lines[y.b0:y.b1])
}

func equalLines(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// around is the part of two changes that touch.
func around(x, y change) part {
	start, end := min(x.a0, y.a0), max(x.a1, y.a1)
	return part{fromBoth, stretch{start, end},
		stretch{x.b0 - (x.a0 - start), x.b1 + end - x.a1}, stretch{y.b0 - (y.a0 - start), y.b1 + end - y.a1}}
}

// add adds a part, to the last one where they touch.
func (m *merging) add(p part) {
	last := len(m.parts) - 1
	if last < 0 || p.ours.start > m.parts[last].ours.end && p.theirs.start > m.parts[last].theirs.end {
		m.parts = append(m.parts, p)
		return
	}
	l := &m.parts[last]
	if l.who != p.who {
		l.who = fromBoth
	}
	l.base.end, l.ours.end, l.theirs.end = p.base.end, p.ours.end, p.theirs.end
}

// refine takes out of the conflicts the lines that both sides have.
func (m *merging) refine() {
	var parts []part
	for _, p := range m.parts {
		if p.who != fromBoth || p.ours.empty() || p.theirs.empty() {
			parts = append(parts, p)
			continue
		}
		list := compareSides(sideOf(m.ours.new.lines[p.ours.start:p.ours.end]),
			sideOf(m.theirs.new.lines[p.theirs.start:p.theirs.end]), lowest).changes()
		if len(list) == 0 {
			p.who = fromEither
			parts = append(parts, p)
		}
		for _, c := range list {
			parts = append(parts, part{who: fromBoth, base: p.base,
				ours:   stretch{p.ours.start + c.a0, p.ours.start + c.a1},
				theirs: stretch{p.theirs.start + c.b0, p.theirs.start + c.b1}})
		}
	}
	m.parts = parts
}

// closeBy is how many lines between two conflicts make them one.
const closeBy = 3

// gather makes one of conflicts between which there are few lines, or none that
// holds a letter or a digit.
func (m *merging) gather() {
	var parts []part
	for _, p := range m.parts {
		if last := len(parts) - 1; last >= 0 && p.who == fromBoth && parts[last].who == fromBoth {
			l := &parts[last]
			if between := m.ours.new.lines[l.ours.end:p.ours.start]; len(between) <= closeBy ||
				!slices.ContainsFunc(between, wordy) {
				l.ours.end, l.theirs.end = p.ours.end, p.theirs.end
				continue
			}
		}
		parts = append(parts, p)
	}
	m.parts = parts
}

// wordy reports a line that holds a letter or a digit.
func wordy(line []byte) bool {
	return slices.ContainsFunc(line, func(c byte) bool {
		return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
	})
}

// The marks of a conflict.
const (
	markOurs   = "<<<<<<<"
	markMiddle = "======="
	markTheirs = ">>>>>>>"
)

func (m *merging) write() (merged []byte, conflicts int) {
	var b bytes.Buffer
	ours, theirs := m.ours.new.lines, m.theirs.new.lines
	at := 0
	for _, p := range m.parts {
		switch p.who {
		case fromBoth:
			conflicts++
			ending := lf
			if m.crlf(p) {
				ending = "\r" + lf
			}
			put(&b, ours[at:p.ours.start], "")
			b.WriteString(mark(markOurs, m.names.Ours) + ending)
			put(&b, ours[p.ours.start:p.ours.end], ending)
			b.WriteString(markMiddle + ending)
			put(&b, theirs[p.theirs.start:p.theirs.end], ending)
			b.WriteString(mark(markTheirs, m.names.Theirs) + ending)
		case fromTheirs:
			put(&b, ours[at:p.ours.start], "")
			put(&b, theirs[p.theirs.start:p.theirs.end], "")
		case fromOurs:
			put(&b, ours[at:p.ours.end], "")
		default:
			continue
		}
		at = p.ours.end
	}
	put(&b, ours[at:], "")
	return b.Bytes(), conflicts
}

func mark(sign, name string) string {
	if name == "" {
		return sign
	}
	return sign + " " + name
}

// put writes lines. Where an ending is given, the last one gets it that has none.
func put(b *bytes.Buffer, lines [][]byte, ending string) {
	for _, line := range lines {
		b.Write(line)
	}
	if n := len(lines); n > 0 && ending != "" && !bytes.HasSuffix(lines[n-1], []byte(lf)) {
		b.WriteString(ending)
	}
}

// crlf reports whether the marks of a conflict end in CR LF: where the lines
// around it do in both sides and the base.
func (m *merging) crlf(p part) bool {
	known := false
	for _, place := range []struct {
		lines [][]byte
		at    int
	}{
		{m.ours.new.lines, max(p.ours.start-1, 0)}, {m.theirs.new.lines, max(p.theirs.start-1, 0)}, {m.ours.old.lines, 0},
	} {
		cr, told := endsCRLF(place.lines, place.at)
		if told && !cr {
			return false
		}
		known = told
	}
	return known
}

// endsCRLF reports whether a line ends in CR LF. A last line without an ending
// does as the one before it.
func endsCRLF(lines [][]byte, at int) (cr, told bool) {
	if len(lines) == 0 {
		return false, false
	}
	if !bytes.HasSuffix(lines[at], []byte(lf)) {
		if at == 0 {
			return false, false
		}
		at--
	}
	return bytes.HasSuffix(lines[at], []byte("\r"+lf)), true
}
