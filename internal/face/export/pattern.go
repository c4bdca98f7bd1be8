package export

import (
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// Patterns in agent.hcl are RE2; JSON Schema has ECMA-262, which clients compile in the stricter
// Unicode mode. A pattern with the same meaning in both stays; others are rewritten.

// maxPattern bounds a rewritten pattern, in bytes. toolhost checks the parameters regardless.
const maxPattern = 500

// ecmaPattern returns a pattern for ECMA-262; ok is false if impossible. A pattern that RE2 cannot read
// is returned unchanged.
func ecmaPattern(pattern string) (ecma string, ok bool) {
	if isCommon(pattern) {
		return pattern, true
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return pattern, true
	}
	var w ecmaWriter
	w.expression(tree)
	if w.failed || w.Len() > maxPattern {
		return "", false
	}
	return w.String(), true
}

type ecmaWriter struct {
	strings.Builder
	failed bool
}

func (w *ecmaWriter) expression(e *syntax.Regexp) {
	if w.Len() > maxPattern {
		return
	}
	switch e.Op {
	case syntax.OpEmptyMatch:
		w.WriteString("(?:)")
	case syntax.OpLiteral:
		w.literal(e)
	case syntax.OpCharClass:
		w.class(e.Rune)
	case syntax.OpAnyCharNotNL:
		w.WriteString(`[^\n]`)
	case syntax.OpAnyChar:
		w.WriteString(`[\s\S]`)
	case syntax.OpBeginText:
		w.WriteByte('^')
	case syntax.OpEndText:
		w.WriteByte('$')
	case syntax.OpWordBoundary:
		w.WriteString(`\b`)
	case syntax.OpNoWordBoundary:
		w.WriteString(`\B`)
	case syntax.OpCapture:
		w.group(e.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		w.repeat(e)
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			w.expression(sub)
		}
	case syntax.OpAlternate:
		w.alternatives(e.Sub)
	default: // line ends within a text, and what never matches
		w.failed = true
	}
}

func (w *ecmaWriter) group(e *syntax.Regexp) {
	w.WriteString("(?:")
	w.expression(e)
	w.WriteByte(')')
}

func (w *ecmaWriter) alternatives(all []*syntax.Regexp) {
	w.WriteString("(?:")
	for i, sub := range all {
		if i > 0 {
			w.WriteByte('|')
		}
		w.expression(sub)
	}
	w.WriteByte(')')
}

func (w *ecmaWriter) repeat(e *syntax.Regexp) {
	w.group(e.Sub[0])
	switch {
	case e.Op == syntax.OpStar:
		w.WriteByte('*')
	case e.Op == syntax.OpPlus:
		w.WriteByte('+')
	case e.Op == syntax.OpQuest:
		w.WriteByte('?')
	case e.Max < 0:
		fmt.Fprintf(w, "{%d,}", e.Min)
	default:
		fmt.Fprintf(w, "{%d,%d}", e.Min, e.Max)
	}
	if e.Flags&syntax.NonGreedy != 0 {
		w.WriteByte('?')
	}
}

func (w *ecmaWriter) literal(e *syntax.Regexp) {
	for _, r := range e.Rune {
		same := []rune{r}
		for f := unicode.SimpleFold(r); e.Flags&syntax.FoldCase != 0 && f != r; f = unicode.SimpleFold(f) {
			same = append(same, f)
		}
		if len(same) == 1 {
			w.rune(r, `^$\.*+?()[]{}|`)
			continue
		}
		slices.Sort(same)
		var ranges []rune
		for _, f := range same {
			ranges = append(ranges, f, f)
		}
		w.class(ranges)
	}
}

// class writes ranges of characters, negated if they include the last character.
func (w *ecmaWriter) class(ranges []rune) {
	if len(ranges) == 0 {
		w.failed = true
		return
	}
	w.WriteByte('[')
	if ranges[len(ranges)-1] == unicode.MaxRune {
		w.WriteByte('^')
		ranges = complement(ranges)
		if len(ranges) == 0 { // everything
			w.failed = true
		}
	}
	for i := 0; i < len(ranges); i += 2 {
		w.rune(ranges[i], `\]^-[`)
		if ranges[i+1] > ranges[i] {
			w.WriteByte('-')
			w.rune(ranges[i+1], `\]^-[`)
		}
	}
	w.WriteByte(']')
}

// complement returns the gaps between ranges, which end with the last character.
func complement(ranges []rune) (out []rune) {
	next := rune(0)
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i] > next {
			out = append(out, next, ranges[i]-1)
		}
		next = ranges[i+1] + 1
	}
	return out
}

// rune writes a character, escaped if in special.
func (w *ecmaWriter) rune(r rune, special string) {
	switch {
	case strings.ContainsRune(special, r):
		w.WriteByte('\\')
		w.WriteRune(r)
	case r < ' ' || r > '~' && r <= 0xff:
		fmt.Fprintf(w, `\x%02x`, r)
	case r > 0xff && r <= 0xffff:
		fmt.Fprintf(w, `\u%04x`, r)
	default:
		w.WriteRune(r)
	}
}
