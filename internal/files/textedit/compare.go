package textedit

import "bytes"

// side is one of the two texts of a comparison.
type side struct {
	// lines hold their line endings.
	lines [][]byte
	// changed marks the lines that the other side does not have. It has one
	// more element, which is false, than there are lines.
	changed []bool
}

func newSide(data []byte) *side {
	lines := bytes.SplitAfter(data, []byte(lf))
	if last := len(lines) - 1; len(lines[last]) == 0 {
		lines = lines[:last]
	}
	return sideOf(lines)
}

func sideOf(lines [][]byte) *side { return &side{lines: lines, changed: make([]bool, len(lines)+1)} }

// comparison is the difference of two texts.
type comparison struct{ old, new *side }

// placement says where a change goes that could be at several places.
type placement int

const (
	// readable is as git does: where indentation suggests a boundary.
	readable placement = iota
	// lowest is as diff does: as far down as possible.
	lowest
)

// compare finds the lines to remove and to add.
func compare(old, new []byte, where placement) comparison {
	return compareSides(newSide(old), newSide(new), where)
}

func compareSides(old, new *side, where placement) comparison {
	c := comparison{old, new}
	c.mark()
	compact(c.old, c.new, where)
	compact(c.new, c.old, where)
	return c
}

// mark runs the search on what is left when common lines at both ends and
// lines that cannot match are taken away.
func (c comparison) mark() {
	a, b := c.old.lines, c.new.lines
	start := 0
	for start < len(a) && start < len(b) && bytes.Equal(a[start], b[start]) {
		start++
	}
	tail := 0
	for tail < min(len(a), len(b))-start && bytes.Equal(a[len(a)-1-tail], b[len(b)-1-tail]) {
		tail++
	}
	ids := number(a, b, start, tail)
	x := c.old.keep(ids.old, ids.inNew, start)
	y := c.new.keep(ids.new, ids.inOld, start)
	newSearch(x, y).run(0, len(x.ids), 0, len(y.ids), false)
}

// numbered are the lines between the common ends as small numbers, equal for
// equal lines, and how often each number is in all of either text.
type numbered struct {
	old, new     []int
	inOld, inNew []int
}

func number(a, b [][]byte, start, tail int) *numbered {
	n := &numbered{}
	index := make(map[string]int)
	assign := func(lines [][]byte) []int {
		ids := make([]int, len(lines))
		for i, line := range lines {
			id, ok := index[string(line)]
			if !ok {
				id = len(index)
				index[string(line)] = id
			}
			ids[i] = id
		}
		return ids
	}
	n.old = assign(a[start : len(a)-tail])
	n.new = assign(b[start : len(b)-tail])
	n.inOld, n.inNew = make([]int, len(index)), make([]int, len(index))
	tally(n.old, n.inOld)
	tally(n.new, n.inNew)
	if len(n.old) > 0 && len(n.new) > 0 {
		n.tallyCommon(index, a[:start])
		n.tallyCommon(index, a[len(a)-tail:])
	}
	return n
}

func tally(ids, count []int) {
	for _, id := range ids {
		count[id]++
	}
}

func (n *numbered) tallyCommon(index map[string]int, lines [][]byte) {
	for _, line := range lines {
		if id, ok := index[string(line)]; ok {
			n.inOld[id]++
			n.inNew[id]++
		}
	}
}

// sequence is what the search sees of a side.
type sequence struct {
	ids []int
	// at is the line of each id.
	at      []int
	changed []bool
}

// How a line of one side looks from the other.
const (
	absent   = iota // nowhere there
	matching        // there, not often
	frequent        // there so often that a match says little
)

const (
	maxFrequent  = 1024
	scanWindow   = 100
	frequentRate = 4
)

// keep gives the lines that take part in the search, and marks the others as
// changed: those that are absent on the other side, and frequent ones that
// stand among absent ones.
func (s *side) keep(ids, there []int, start int) *sequence {
	limit := min(roughRoot(len(s.lines)), maxFrequent)
	class := make([]int, len(ids))
	for i, id := range ids {
		switch n := there[id]; {
		case n >= limit:
			class[i] = frequent
		case n > 0:
			class[i] = matching
		}
	}
	seq := &sequence{changed: s.changed}
	for i, id := range ids {
		if class[i] == matching || class[i] == frequent && !amongAbsent(class, i) {
			seq.ids = append(seq.ids, id)
			seq.at = append(seq.at, start+i)
		} else {
			s.changed[start+i] = true
		}
	}
	return seq
}

// amongAbsent reports whether the frequent line i lies in a run of lines
// without a real match, most of which are absent.
func amongAbsent(class []int, i int) bool {
	before, frequentBefore := scan(class, i, -1)
	if before == 0 {
		return false
	}
	after, frequentAfter := scan(class, i, 1)
	if after == 0 {
		return false
	}
	often := frequentBefore + frequentAfter
	return often*frequentRate < often+before+after
}

// scan counts absent and frequent lines (the one at i included) from i on up
// to the first matching one.
func scan(class []int, i, step int) (missing, often int) {
	often = 1
	for r := 1; r <= scanWindow; r++ {
		j := i + step*r
		if j < 0 || j >= len(class) || class[j] == matching {
			break
		}
		if class[j] == absent {
			missing++
		} else {
			often++
		}
	}
	return missing, often
}

// roughRoot is a power of two near the square root of n.
func roughRoot(n int) int {
	root := 1
	for ; n > 0; n >>= 2 {
		root <<= 1
	}
	return root
}
