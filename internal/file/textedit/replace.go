package textedit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// Which selects the occurrences to replace.
type Which int

const (
	// Exactly replaces all occurrences, of which there must be N.
	Exactly Which = iota
	First
	All
	Nth
)

// ReplaceOptions select the occurrences. The zero value replaces the only one and fails if there are more.
type ReplaceOptions struct {
	Which Which
	// N counts from 1, for Exactly and Nth. 0 means 1.
	N int
}

// MaxSize limits a text grown by replacing, in bytes. Otherwise a few replacements of all occurrences could exhaust
// memory.
const MaxSize = 64 << 20

// Replacement is the result of Replace.
type Replacement struct {
	// Data is the whole new content.
	Data []byte
	// Count is the number of replaced occurrences, Total of all.
	Count, Total int
	// Lines are where the replaced occurrences started, from 1.
	Lines []int
}

// Replace replaces old by new in the bytes of a file. Both are verbatim text.
//
// The literal old is searched first; if missing, line endings are converted. The replacement of such an occurrence,
// or of one without line endings, gets the line endings of that place. The replacement of one with line endings
// gets those of the file if it has only one kind; in a file of mixed endings it is inserted verbatim.
//
// Errors are those of Decode, *MatchError, which wraps a *tool.Error of code no_match, not_unique, no_change or
// invalid_argument, and a *tool.Error of code too_large if the text would exceed MaxSize.
func Replace(data []byte, old, new string, opts ReplaceOptions) (*Replacement, error) {
	t, err := Decode(data)
	if err != nil {
		return nil, err
	}
	r, err := t.Replace(old, new, opts)
	if err != nil {
		return nil, err
	}
	r.Data = t.Encode()
	return r, nil
}

// Count returns how often old occurs in the bytes of a file, found as by Replace, and on which lines, from 1.
// The count is 0 for a binary file.
func Count(data []byte, old string) (n int, lines []int) {
	t, err := Decode(data)
	if err != nil {
		return 0, nil
	}
	return t.Count(old)
}

// Count is the function Count for a text.
func (t *Text) Count(old string) (n int, lines []int) {
	m := t.find(old)
	return len(m.spans), t.lines(m.spans)
}

// Literal reports whether old occurs verbatim, without converting line endings.
func (t *Text) Literal(old string) bool {
	return len(t.findBy(old, t.findLiteral).spans) > 0
}

// Replace is the function Replace for a text, which is unchanged after an error. Replacement.Data is nil: see
// Encode.
func (t *Text) Replace(old, new string, opts ReplaceOptions) (*Replacement, error) {
	if old == "" {
		err := tool.Errorf(tool.InvalidArgument, "the text to find is empty").
			Suggest("Give the exact text to replace, with enough of its surroundings to be unique.")
		return nil, &MatchError{Code: err.Code, err: err}
	}
	if old == new {
		return nil, noChange("the text to find and its replacement are the same", "Give a replacement that differs from the text it replaces.")
	}
	found := t.find(old)
	chosen, err := t.choose(old, found, opts)
	if err != nil {
		return nil, err
	}
	if !t.holds(new, found.latin) {
		return nil, lacking("replacement")
	}
	grown := int64(len(t.body)) + int64(len(chosen))*int64(len(new)-len(old)) // approximately
	if len(new) > len(old) && grown > MaxSize {
		return nil, tool.Errorf(tool.TooLarge,
			"replacing %d occurrences would make a text of %d bytes, and %d are the most", len(chosen), grown, MaxSize).
			Suggest("Replace by less, or fewer occurrences at a time.")
	}
	body := t.substitute(old, new, found.latin, chosen)
	if bytes.Equal(body, t.body) {
		return nil, noChange("with the line endings of the file, the replacement is the same text",
			"Leave the edit out, or give a replacement that differs in more than line endings.")
	}
	r := &Replacement{Count: len(chosen), Total: len(found.spans), Lines: t.lines(chosen)}
	t.setBody(body)
	return r, nil
}

func (t *Text) choose(old string, found matches, opts ReplaceOptions) ([]span, error) {
	spans, n := found.spans, max(opts.N, 1)
	switch {
	case len(spans) == 0:
		return nil, t.noMatch(old, n)
	case opts.Which == First:
		return spans[:1], nil
	case opts.Which == Nth && n <= len(spans):
		return spans[n-1 : n], nil
	case opts.Which == Nth, opts.Which == Exactly && n != len(spans):
		return nil, miscounted(opts.Which, n, t.lines(spans))
	}
	return spans, nil
}

// Form returns a new part of the text as String has it, in the file's encoding. The error, an unsupported, says that the
// encoding lacks characters of s.
func (t *Text) Form(s string) (string, error) {
	if !t.holds(s, false) {
		return "", lacking("new text")
	}
	return t.form(s, false), nil
}

// Append adds s at the end, in the encoding of the text and with the line endings of its last lines.
func (t *Text) Append(s string) {
	s = t.form(t.fit(s, len(t.body)), false)
	t.setBody(append(t.body[:len(t.body):len(t.body)], s...))
}

// Insert adds s as whole lines after a line of Lines, or 0, in the encoding of the text and with the endings of the lines
// there. The text stays as it is if the error, an unsupported, says that its encoding lacks characters of s.
func (t *Text) Insert(line int, s string) error {
	if !strings.HasSuffix(s, lf) {
		s += lf
	}
	at := 0
	lines, endings := t.Lines()
	for i := range line {
		at += len(lines[i]) + len(endings[i])
	}
	if line > 0 && endings[line-1] == "" {
		s = lf + s
	}
	s, err := t.Form(t.fit(s, at))
	if err == nil {
		t.setBody(slices.Concat(t.body[:at], []byte(s), t.body[at:]))
	}
	return err
}

func (t *Text) substitute(old, new string, latin bool, spans []span) []byte {
	if t.bom && strings.HasPrefix(old, utf8BOM) {
		old, new = strings.TrimPrefix(old, utf8BOM), strings.TrimPrefix(new, utf8BOM)
	}
	old, new = t.form(old, latin), t.form(new, latin)
	var out bytes.Buffer
	out.Grow(len(t.body) + len(spans)*max(0, len(new)-len(old)))
	at := 0
	for _, s := range spans {
		out.Write(t.body[at:s.start])
		switch {
		case s.folded:
			t.insertFolded(&out, s, old, new)
		case t.hasEnding(old) && t.mixed():
			out.WriteString(new)
		default:
			out.WriteString(t.fit(new, s.start))
		}
		at = s.end
	}
	out.Write(t.body[at:])
	return out.Bytes()
}

// holds reports whether the file can contain s. Characters beyond ASCII and Latin-1 would put UTF-8 into a file of
// another encoding.
func (t *Text) holds(s string, latin bool) bool {
	if t.enc != Bytes || isASCII(s) {
		return true
	}
	_, ok := latin1(s)
	return ok || !latin && hasUTF8(t.body)
}

// form returns s as stored in a file that is not UTF-8: Latin-1 if old was found so, or if nothing in the file
// looks like UTF-8.
func (t *Text) form(s string, latin bool) string {
	if t.enc != Bytes {
		return s
	}
	if short, ok := latin1(s); ok && (latin || !hasUTF8(t.body)) {
		return short
	}
	return s
}

// fit returns s with the line endings of the line at offset.
func (t *Text) fit(s string, offset int) string {
	near := t.endingNear(offset)
	if near == "" {
		return s
	}
	return adapt(foldEndings(s, t.folded().old), nil, near)
}

// insertFolded keeps the bytes that old and new share at both ends, and gives the rest the endings of what it
// replaces.
func (t *Text) insertFolded(out *bytes.Buffer, s span, old, new string) {
	e := t.folded()
	old, new = foldEndings(old, e.old), foldEndings(new, e.old)
	pre := commonPrefix(old, new)
	post := commonSuffix(old[pre:], new[pre:])
	from := e.folds(s.start)
	start, end := e.raw(from+pre), e.raw(from+len(old)-post)
	out.Write(t.body[s.start:start])
	out.WriteString(adapt(new[pre:len(new)-post], t.endingsIn(start, end), t.endingWithin(s, start, end)))
	out.Write(t.body[end:s.end])
}

// endingWithin returns the line ending of s nearest to its part from start to end or, if s has none, that of the
// line.
func (t *Text) endingWithin(s span, start, end int) string {
	if before := t.endingsIn(s.start, start); len(before) > 0 {
		return before[len(before)-1]
	}
	if after := t.endingsIn(end, s.end); len(after) > 0 {
		return after[0]
	}
	return t.endingNear(start)
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}
