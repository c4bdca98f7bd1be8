package data

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// source is a text in which positions can be looked up.
type source struct {
	text   []byte
	starts []int
}

func newSource(text []byte) *source {
	s := &source{text: text, starts: []int{0}}
	for i, b := range text {
		if b == '\n' {
			s.starts = append(s.starts, i+1)
		}
	}
	return s
}

// offset returns the offset of a position, the text's end if beyond.
func (s *source) offset(at Place) int {
	if at.Line > len(s.starts) {
		return len(s.text)
	}
	offset := s.starts[max(at.Line-1, 0)]
	for range at.Column - 1 {
		_, size := utf8.DecodeRune(s.text[offset:])
		offset += size
	}
	return min(offset, len(s.text))
}

func (s *source) line(number int) []byte {
	if number > len(s.starts) {
		return nil
	}
	line, _, _ := bytes.Cut(s.text[s.starts[number-1]:], []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// indent counts a line's leading spaces; blank is set for white space alone.
func indent(line []byte) (n int, blank bool) {
	return len(line) - len(bytes.TrimLeft(line, " ")), len(bytes.TrimLeft(line, " \t")) == 0
}

// checkIndents refuses what the library wrongly accepts: lines of quoted text and flow collections
// indented no more than their block, and block scalars that start with a blank line longer than
// their indent. Lines of closing brackets alone may be at the block's indent, as is usual. parent
// is the indent of the block around n, -1 for none.
func (s *source) checkIndents(n *yaml.Node, parent int) error {
	switch {
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return s.checkBlockScalar(n, parent)
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0,
		n.Style&yaml.FlowStyle != 0:
		return s.checkFlow(n, parent)
	}
	for i, child := range n.Content {
		around := parent
		switch {
		case n.Kind == yaml.MappingNode:
			around = s.keyIndent(n.Content[i-i%2])
		case n.Kind == yaml.SequenceNode && n.Anchor == "" && n.Style&yaml.TaggedStyle == 0:
			around = n.Column - 1
		}
		if err := s.checkIndents(child, around); err != nil {
			return err
		}
	}
	return nil
}

// keyIndent returns the indent of the key's block mapping: that of the key or of the "?" before it.
func (s *source) keyIndent(key *yaml.Node) int {
	before := bytes.TrimRight(s.text[s.starts[key.Line-1]:s.offset(placeOf(key))], " \t")
	if bytes.HasSuffix(before, []byte("?")) {
		return utf8.RuneCount(before) - 1
	}
	return key.Column - 1
}

func (s *source) checkFlow(n *yaml.Node, parent int) error {
	if parent < 0 {
		return nil
	}
	from := s.offset(placeOf(n))
	last := n.Line + bytes.Count(s.text[from:s.flowEnd(from)], []byte("\n"))
	quoted := n.Kind == yaml.ScalarNode
	for number := n.Line + 1; number <= last; number++ {
		line := s.line(number)
		width, blank := indent(line)
		rest := bytes.TrimLeft(line, " \t")
		closes := !quoted && width == parent && len(bytes.Trim(rest, "]}, \t")) == 0
		if blank || width > parent || closes || !quoted && rest[0] == '#' {
			continue
		}
		return broken(YAML, Place{number, width + 1}, "the line is indented no more than the block it is in",
			"Indent it with spaces, further than the line in which the value begins.")
	}
	return nil
}

// flowEnd returns the end of the quoted text or flow collection at or after from.
func (s *source) flowEnd(from int) int {
	depth := 0
	for i := from; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case c == '"' || c == '\'' && s.separated(i):
			i = s.quoteEnd(i)
			if depth == 0 {
				return i
			}
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth <= 0 {
				return i
			}
		case c == '#' && s.separated(i):
			for i+1 < len(s.text) && s.text[i+1] != '\n' {
				i++
			}
		}
	}
	return len(s.text)
}

// separated reports whether a token can start at an offset: a "'" or "#" within a word is part of it.
func (s *source) separated(i int) bool {
	return i == 0 || strings.IndexByte(" \t\r\n[]{},:", s.text[i-1]) >= 0
}

func (s *source) quoteEnd(i int) int {
	quote := s.text[i]
	for i++; i < len(s.text); i++ {
		switch {
		case quote == '"' && s.text[i] == '\\':
			i++
		case s.text[i] != quote:
		case quote == '\'' && i+1 < len(s.text) && s.text[i+1] == quote:
			i++
		default:
			return i
		}
	}
	return len(s.text)
}

// checkBlockScalar checks the blank lines at the start of a block scalar.
func (s *source) checkBlockScalar(n *yaml.Node, parent int) error {
	start := s.offset(placeOf(n))
	header := start
	for header < len(s.text) && s.text[header] != '|' && s.text[header] != '>' {
		header++
	}
	first := n.Line + bytes.Count(s.text[start:header], []byte("\n"))
	rest, _, _ := bytes.Cut(s.text[header:], []byte("\n"))
	if indicators, _, _ := bytes.Cut(rest, []byte(" ")); bytes.ContainsAny(indicators, "123456789") {
		return nil
	}
	widest, at := 0, 0
	for number := first + 1; number <= len(s.starts); number++ {
		width, blank := indent(s.line(number))
		if blank && width >= widest {
			widest, at = width, number
		}
		if blank {
			continue
		}
		if width == 0 && parent < 0 {
			return s.checkMarkers(number)
		}
		if width > parent && widest > width {
			return broken(YAML, Place{at, 1},
				"a blank line at the start of a block scalar has more spaces than its first line",
				"Remove the spaces of the blank line.")
		}
		return nil
	}
	return nil
}

// checkMarkers refuses an end of document after a block scalar without indent, which the library
// takes as part of it.
func (s *source) checkMarkers(from int) error {
	for number := from; number <= len(s.starts); number++ {
		if line := string(s.line(number)); isMarker(line, "---") || isMarker(line, "...") {
			return broken(YAML, Place{number, 1},
				"a block scalar without indent cannot be followed by a line "+line[:3],
				"Indent the lines of the block scalar by two spaces.")
		}
	}
	return nil
}
