package search

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

type pattern struct {
	tree  *syntax.Regexp
	match *regexp.Regexp
	// raw is set for a pattern with a carriage return: lines are then matched including one at their end.
	raw bool
	// need finds candidates for matching lines; nil means all.
	need *finder
	// exact is set if what need finds is a match.
	exact bool
}

func compile(q Query) (*pattern, error) {
	if q.Pattern == "" {
		return nil, tool.Errorf(tool.InvalidArgument,
			"search pattern cannot be empty").Suggest("Give a text or a regular expression to look for.")
	}
	flags := syntax.PerlX | syntax.UnicodeGroups // no OneLine: ^ and $ are about lines
	if q.Literal {
		flags = syntax.Literal
	}
	if q.IgnoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(q.Pattern, flags)
	if err != nil {
		return nil, invalid(q.Pattern, err)
	}
	raw := names(tree, '\r')
	tree = withinLine(tree, raw)
	if names(tree, '\n') {
		return nil, tool.Errorf(tool.InvalidArgument,
			"the pattern %q holds a line break, and lines are searched one by one", q.Pattern).
			Suggest("Search for a part of it that is on one line, and read what is around it.").With("reason",
			"line break in the pattern")
	}
	match, err := regexp.Compile(tree.String())
	if err != nil {
		return nil, invalid(q.Pattern, err)
	}
	p := &pattern{tree: tree, match: match, raw: raw}
	if needles, exact := required(tree); len(needles) > 0 {
		p.need, p.exact = &finder{needles}, exact
	}
	return p, nil
}

func invalid(pattern string, err error) error {
	reason := err.Error()
	var syntaxErr *syntax.Error
	if errors.As(err, &syntaxErr) {
		reason = syntaxErr.Code.String()
		if syntaxErr.Expr != "" && syntaxErr.Expr != pattern {
			reason += ": " + syntaxErr.Expr
		}
	}
	next := "Escape characters that you mean literally with a backslash, or search for literal text."
	if found := beyondRE2().FindString(pattern); found != "" {
		reason = found + " is not supported"
		next = "RE2 has no look-ahead, look-behind or backreferences: use a broader pattern, and filter the matches."
	}
	return tool.Errorf(tool.InvalidArgument, "invalid regular expression %q: %s", pattern, reason).Suggest("%s",
		next).With("reason", reason)
}

// beyondRE2 matches other engines' syntax that RE2 lacks.
var beyondRE2 = regexlimit.Lazy(`\(\?<?[=!]|\\[1-9]`)

// withinLine changes a syntax tree so that it never matches a line break, and text and line have the same ends.
// Groups capture nothing. In a raw pattern a carriage return is an ordinary character.
func withinLine(re *syntax.Regexp, raw bool) *syntax.Regexp {
	for i, sub := range re.Sub {
		re.Sub[i] = withinLine(sub, raw)
	}
	switch re.Op {
	case syntax.OpCapture:
		return re.Sub[0]
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op = syntax.OpEndLine
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		re.Op, re.Rune = syntax.OpCharClass, withoutBreaks([]rune{0, utf8.MaxRune}, raw)
	case syntax.OpCharClass:
		re.Rune = withoutBreaks(re.Rune, raw)
		if len(re.Rune) == 0 {
			re.Op = syntax.OpNoMatch
		}
	default:
	}
	return re
}

func withoutBreaks(ranges []rune, raw bool) []rune {
	ranges = without(ranges, '\n')
	if raw {
		return ranges
	}
	return without(ranges, '\r')
}

func without(ranges []rune, r rune) []rune {
	var rest []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if r < lo || r > hi {
			rest = append(rest, lo, hi)
			continue
		}
		if lo < r {
			rest = append(rest, lo, r-1)
		}
		if r < hi {
			rest = append(rest, r+1, hi)
		}
	}
	return rest
}

// names reports whether the pattern contains the character itself, outside classes.
func names(re *syntax.Regexp, r rune) bool {
	return re.Op == syntax.OpLiteral && slices.Contains(re.Rune, r) ||
		slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return names(sub, r) })
}

// line returns the part to match of the bytes before a line feed.
func (p *pattern) line(bytes []byte) []byte {
	if p.raw {
		return bytes
	}
	return trimCR(bytes)
}

// matches reports whether a line, without its end, matches. Go treats invalid UTF-8 as U+FFFD; here no pattern
// matches it, nor a line feed or, unless raw, a carriage return.
func (p *pattern) matches(line []byte) bool {
	if utf8.Valid(line) {
		return p.match.Match(line)
	}
	line, never := bytes.Clone(line), byte('\r')
	if p.raw {
		never = '\n'
	}
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && size == 1 {
			line[i] = never
		}
		i += size
	}
	return p.match.Match(line)
}

// longLine is the length from which the match of a line can be stopped.
const longLine = 64 << 10

func (p *pattern) find(line []byte, stop <-chan struct{}) []int {
	if len(line) <= longLine || stop == nil {
		return p.match.FindIndex(line)
	}
	r := p.reader(line, stop)
	if at := p.match.FindReaderIndex(r); !r.ended {
		return at
	}
	return nil
}

func (p *pattern) reader(line []byte, stop <-chan struct{}) *stoppable {
	if p.raw {
		return &stoppable{text: line, never: '\n', stop: stop}
	}
	return &stoppable{text: line, never: '\r', stop: stop}
}

// stoppable reads a line's characters until it is stopped.
type stoppable struct {
	text  []byte
	never rune // for invalid UTF-8
	stop  <-chan struct{}
	read  int
	ended bool
}

func (s *stoppable) ReadRune() (r rune, size int, err error) {
	if s.read++; s.read%4096 == 0 && isClosed(s.stop) {
		s.ended = true
	}
	if s.ended || len(s.text) == 0 {
		return 0, 0, io.EOF
	}
	if r, size = utf8.DecodeRune(s.text); r == utf8.RuneError && size == 1 {
		r = s.never
	}
	s.text = s.text[size:]
	return r, size, nil
}

func isClosed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}
