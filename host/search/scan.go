package search

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// input is one file's text being searched.
type input struct {
	text    []byte
	query   Query
	pattern *pattern

	valid   bool // all of text is UTF-8
	checked bool // valid is known
	line    int  // lines before counted
	counted int
}

// decode gives a file's text without byte order mark, UTF-16 as UTF-8.
func decode(data []byte) []byte {
	order := unicode.LittleEndian
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = unicode.BigEndian
	default:
		return data
	}
	text, err := unicode.UTF16(order, unicode.ExpectBOM).NewDecoder().Bytes(data)
	if err != nil {
		return data
	}
	return text
}

// search notes the matching lines. Where it finds one it makes sure that the
// text is no binary, which never matches.
func (in *input) search(found *fileHits) {
	const head = 8 << 10
	if in.pattern.need == nil && isBinary(in.text[:min(len(in.text), head)]) {
		return
	}
	for start, end := range in.candidates() {
		if found.count == 0 && isBinary(in.text) {
			return
		}
		found.count++
		if in.query.Mode == Files {
			return
		}
		if in.query.Mode == Lines && len(found.lines) < wanted(in.query) {
			found.lines = append(found.lines, in.match(found.path, start, end))
		}
	}
}

func isBinary(text []byte) bool { return bytes.IndexByte(text, 0) >= 0 }

// candidates gives the bounds of the matching lines, without their ends.
func (in *input) candidates() func(yield func(start, end int) bool) {
	if in.pattern.need == nil {
		return in.everyLine
	}
	return in.likelyLines
}

func (in *input) everyLine(yield func(start, end int) bool) {
	for start := 0; start < len(in.text); {
		end := in.endOf(start)
		if in.matches(start, end) && !yield(start, end) {
			return
		}
		start = end + 1
	}
}

func (in *input) likelyLines(yield func(start, end int) bool) {
	scan := in.pattern.need.scan(in.text)
	for at := scan.next(0); at >= 0; {
		start, end := in.startOf(at), in.endOf(at)
		if (in.pattern.exact || in.matches(start, end)) && !yield(start, end) {
			return
		}
		if end >= len(in.text) {
			return
		}
		at = scan.next(end + 1)
	}
}

func (in *input) matches(start, end int) bool {
	line := trimCR(in.text[start:end])
	if !in.checked {
		in.valid, in.checked = utf8.Valid(in.text), true
	}
	if in.valid {
		return in.pattern.match.Match(line)
	}
	return in.pattern.matches(line)
}

// startOf and endOf give the bounds of the line around a place.
func (in *input) startOf(at int) int { return bytes.LastIndexByte(in.text[:at], '\n') + 1 }

func (in *input) endOf(at int) int {
	if i := bytes.IndexByte(in.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(in.text)
}

// match makes the result for a line. Lines are asked for in order.
func (in *input) match(path string, start, end int) Match {
	in.line += bytes.Count(in.text[in.counted:start], []byte{'\n'})
	in.counted = start
	return Match{
		Path: path, Line: in.line + 1, Text: show(in.text[start:end]),
		Before: in.before(start, in.query.Before), After: in.after(end, in.query.After),
	}
}

func (in *input) before(start, n int) []string {
	var lines []string
	for len(lines) < n && start > 0 {
		end := start - 1
		start = in.startOf(end)
		lines = append(lines, show(in.text[start:end]))
	}
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return lines
}

func (in *input) after(end, n int) []string {
	var lines []string
	for len(lines) < n && end+1 < len(in.text) {
		start := end + 1
		end = in.endOf(start)
		lines = append(lines, show(in.text[start:end]))
	}
	return lines
}

func trimCR(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }

// show is a line as results have it.
func show(line []byte) string {
	return strings.ToValidUTF8(string(trimCR(line)), string(utf8.RuneError))
}
