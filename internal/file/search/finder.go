package search

import (
	"bytes"
	"regexp/syntax"
	"unicode"
)

const maxNeedles = 8

// needle is a text that a match contains. With fold it is lower-case ASCII that matches any case.
type needle struct {
	text []byte
	fold bool
}

// finder finds candidates for matching lines: those with one of the needles.
type finder struct{ needles []needle }

// required returns texts of which every match of re contains at least one; exact is set if containing one
// suffices.
func required(re *syntax.Regexp) (needles []needle, exact bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if found, _ := required(sub); better(found, needles) {
				needles = found
			}
		}
	case syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min >= 1 {
			needles, _ = required(re.Sub[0])
		}
	case syntax.OpAlternate:
		return anyOf(re.Sub)
	default:
	}
	return needles, false
}

func anyOf(subs []*syntax.Regexp) (needles []needle, exact bool) {
	exact = true
	for _, sub := range subs {
		found, whole := required(sub)
		if len(found) == 0 || len(needles)+len(found) > maxNeedles {
			return nil, false
		}
		needles, exact = append(needles, found...), exact && whole
	}
	return needles, exact
}

// better reports whether a promises fewer false candidates than b: its shortest text is longer.
func better(a, b []needle) bool {
	return len(a) > 0 && (len(b) == 0 || shortest(a) > shortest(b))
}

func shortest(needles []needle) int {
	n := len(needles[0].text)
	for _, needle := range needles {
		n = min(n, len(needle.text))
	}
	return n
}

func literal(re *syntax.Regexp) (needles []needle, exact bool) {
	if re.Flags&syntax.FoldCase == 0 {
		return []needle{{text: []byte(string(re.Rune))}}, true
	}
	piece := foldable(re.Rune)
	if len(piece) == 0 {
		return nil, false
	}
	return []needle{{text: piece, fold: true}}, len(piece) == len(re.Rune)
}

// foldable returns the longest part of a text whose other cases are ASCII too, in lower case. K and S have
// non-ASCII ones.
func foldable(text []rune) []byte {
	var longest, run []byte
	for _, r := range text {
		r = unicode.ToLower(r)
		if r >= unicode.MaxASCII || r == 'k' || r == 's' {
			run = nil
			continue
		}
		if run = append(run, byte(r)); len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}

type scan struct {
	text    []byte
	needles []cursor
}

// cursor is a needle's next occurrence.
type cursor struct {
	needle
	at int // -1: not searched yet; len(text): none
	// For fold: the rarest byte of the needle, its index, and the next occurrences of its two cases.
	index        int
	lower, upper byte
	nextLower    int
	nextUpper    int
}

func (f *finder) scan(text []byte) *scan {
	s := &scan{text: text, needles: make([]cursor, len(f.needles))}
	for i, n := range f.needles {
		c := cursor{needle: n, at: -1, nextLower: -1, nextUpper: -1}
		if n.fold {
			c.index = rarest(n.text)
			c.lower = n.text[c.index]
			if c.upper = c.lower; 'a' <= c.lower && c.lower <= 'z' {
				c.upper -= 'a' - 'A'
			}
		}
		s.needles[i] = c
	}
	return s
}

// next returns the first occurrence of a needle at or after from, or -1.
func (s *scan) next(from int) int {
	first := len(s.text)
	for i := range s.needles {
		c := &s.needles[i]
		if c.at < from {
			c.at = c.find(s.text, from)
		}
		first = min(first, c.at)
	}
	if first == len(s.text) {
		return -1
	}
	return first
}

func (c *cursor) find(text []byte, from int) int {
	if !c.fold {
		if i := bytes.Index(text[from:], c.text); i >= 0 {
			return from + i
		}
		return len(text)
	}
	for {
		at := c.findRare(text, from+c.index)
		if at == len(text) {
			return at
		}
		start := at - c.index
		if start+len(c.text) <= len(text) && equalFold(text[start:start+len(c.text)], c.text) {
			return start
		}
		from = start + 1
	}
}

func (c *cursor) findRare(text []byte, from int) int {
	if from >= len(text) {
		return len(text)
	}
	if c.nextLower < from {
		c.nextLower = indexByte(text, from, c.lower)
	}
	if c.upper == c.lower {
		return c.nextLower
	}
	if c.nextUpper < from {
		c.nextUpper = indexByte(text, from, c.upper)
	}
	return min(c.nextLower, c.nextUpper)
}

func indexByte(text []byte, from int, b byte) int {
	if i := bytes.IndexByte(text[from:], b); i >= 0 {
		return from + i
	}
	return len(text)
}

// rarest returns the index of the byte likely to occur least often.
func rarest(text []byte) int {
	const common = " etaoinrhldcumfpgwybvxjqz" // roughly by frequency in code and prose
	best, rank := 0, -2
	for i, b := range text {
		r := bytes.IndexByte([]byte(common), b)
		if r < 0 {
			r = 15 // digits and signs: about as often as w
		}
		if r > rank {
			best, rank = i, r
		}
	}
	return best
}

// equalFold compares with a text in lower-case ASCII.
func equalFold(text, lower []byte) bool {
	for i, b := range text {
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if b != lower[i] {
			return false
		}
	}
	return true
}
