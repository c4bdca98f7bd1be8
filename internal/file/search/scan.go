package search

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// input is a searched text: a file, or a window of a large one.
type input struct {
	text    []byte
	query   Query
	pattern *pattern

	// from and to limit the lines to search; to is 0 for all.
	from, to int
	// line is the number of lines before counted.
	line, counted int

	// stop ends the search when closed; may be nil.
	stop    <-chan struct{}
	looks   int // lines since stop was checked
	matched int // bytes since then

	valid   bool // all of text is UTF-8
	checked bool // valid is known
}

// decode returns a file's text without byte order mark, UTF-16 as UTF-8.
func decode(data []byte) []byte {
	if d := decoderOf(data); d != nil {
		if text, err := d.Bytes(data); err == nil {
			return text
		}
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
}

// decoderOf returns the decoder for UTF-16 with a byte order mark, nil for anything else.
func decoderOf(data []byte) *encoding.Decoder {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.BigEndian, unicode.ExpectBOM).NewDecoder()
	}
	return nil
}

// search adds the matching lines. If there is one it makes sure that the text is not binary.
func (in *input) search(found *fileHits) {
	if in.to == 0 {
		in.to = len(in.text)
	}
	const head = 8 << 10
	if in.pattern.need == nil && isBinary(in.text[:min(len(in.text), head)]) {
		return
	}
	lines := in.likelyLines
	if in.pattern.need == nil {
		lines = in.everyLine
	}
	checked := false
	for start, end := range lines {
		if !checked && isBinary(in.text) {
			return
		}
		checked = true
		found.count++
		if in.query.Mode == Files {
			return
		}
		if in.query.Mode == Lines && found.wants(in.query) {
			found.add(in.match(found.path, start, end))
		}
	}
}

func isBinary(text []byte) bool { return bytes.IndexByte(text, 0) >= 0 }

// everyLine yields the bounds of the matching lines, without their ends.
func (in *input) everyLine(yield func(start, end int) bool) {
	for start := in.from; start < in.to && !in.stopped(); {
		end := in.endOf(start)
		if in.matches(start, end) && !yield(start, end) {
			return
		}
		start = end + 1
	}
}

// likelyLines is everyLine, but checks only lines that contain a needle.
func (in *input) likelyLines(yield func(start, end int) bool) {
	scan := in.pattern.need.scan(in.text)
	for at := scan.next(in.from); at >= 0 && at < in.to && !in.stopped(); {
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

// stopped checks stop from time to time: a pattern may take microseconds per byte.
func (in *input) stopped() bool {
	const mostLines, mostBytes = 256, 16 << 10
	if in.looks++; in.looks < mostLines && in.matched < mostBytes {
		return false
	}
	in.looks, in.matched = 0, 0
	return isClosed(in.stop)
}

func (in *input) matches(start, end int) bool {
	line := in.pattern.line(in.text[start:end])
	if !in.checked {
		in.valid, in.checked = utf8.Valid(in.text), true
	}
	in.matched += len(line)
	switch {
	case len(line) > longLine && in.stop != nil:
		r := in.pattern.reader(line, in.stop)
		return in.pattern.match.MatchReader(r) && !r.ended
	case in.valid:
		return in.pattern.match.Match(line)
	}
	return in.pattern.matches(line)
}

// startOf and endOf return the bounds of the line around a position.
func (in *input) startOf(at int) int { return bytes.LastIndexByte(in.text[:at], '\n') + 1 }

func (in *input) endOf(at int) int {
	if i := bytes.IndexByte(in.text[at:], '\n'); i >= 0 {
		return at + i
	}
	return len(in.text)
}

// match returns the result for a line. Lines must be requested in order.
func (in *input) match(path string, start, end int) Match {
	in.line += bytes.Count(in.text[in.counted:start], []byte{'\n'})
	in.counted = start
	return Match{
		Path: path, Line: in.line + 1, Text: in.query.shownMatch(in.text[start:end], in.pattern),
		Before: in.before(start, in.query.Before), After: in.after(end, in.query.After),
	}
}

func (in *input) before(start, n int) []string {
	var lines []string
	for len(lines) < n && start > 0 {
		end := start - 1
		start = in.startOf(end)
		lines = append(lines, in.query.shown(in.text[start:end]))
	}
	slices.Reverse(lines)
	return lines
}

func (in *input) after(end, n int) []string {
	var lines []string
	for len(lines) < n && end+1 < len(in.text) {
		start := end + 1
		end = in.endOf(start)
		lines = append(lines, in.query.shown(in.text[start:end]))
	}
	return lines
}

func trimCR(line []byte) []byte { return bytes.TrimSuffix(line, []byte{'\r'}) }
