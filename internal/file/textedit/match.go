package textedit

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

type span struct {
	start, end int
	// folded is set if the occurrence was found, at least at its edge, only by converting line endings.
	folded bool
}

type matches struct {
	spans []span
	// latin is set if the string was found in its Latin-1 form.
	latin bool
}

// find returns the non-overlapping occurrences of old, in order: the literal ones or, if there are none, those with
// line endings converted.
func (t *Text) find(old string) matches {
	return t.findBy(old, func(form string) []span {
		if spans := t.findLiteral(form); spans != nil {
			return spans
		}
		return t.findFolded(form)
	})
}

// findBy looks for each form that old can have in the bytes of the file.
func (t *Text) findBy(old string, look func(form string) []span) matches {
	if rest, ok := strings.CutPrefix(old, utf8BOM); ok && t.bom {
		found := t.findBy(rest, look) // only at the start of the body, which does not include the mark
		if len(found.spans) == 0 || found.spans[0].start != 0 {
			return matches{}
		}
		found.spans = found.spans[:1]
		return found
	}
	if old == "" {
		return matches{}
	}
	if spans := look(old); spans != nil {
		return matches{spans: spans}
	}
	if form, ok := latin1(old); ok && t.enc == Bytes {
		return matches{spans: look(form), latin: true}
	}
	return matches{}
}

func (t *Text) findLiteral(old string) []span {
	var spans []span
	splits := old[0] == '\n' && !strings.HasSuffix(old, cr)
	for _, i := range indexes(t.body, []byte(old)) {
		s := span{start: i, end: i + len(old)}
		// An occurrence that starts inside "\r\n" includes the whole ending.
		if splits && i > 0 && t.body[i-1] == '\r' && (len(spans) == 0 || spans[len(spans)-1].end < i) {
			s.start, s.folded = i-1, true
		}
		spans = append(spans, s)
	}
	return spans
}

func (t *Text) findFolded(old string) []span {
	e := t.folded()
	if !strings.Contains(old, lf) && !strings.Contains(old, cr) {
		return nil
	}
	old = foldEndings(old, e.old)
	var spans []span
	for _, i := range indexes(e.alike, []byte(old)) {
		spans = append(spans, span{start: e.raw(i), end: e.raw(i + len(old)), folded: true})
	}
	return spans
}

func indexes(data, sep []byte) []int {
	var list []int
	for from := 0; ; {
		i := bytes.Index(data[from:], sep)
		if i < 0 {
			return list
		}
		list = append(list, from+i)
		from += i + len(sep)
	}
}

// latin1 converts s to Latin-1; false if s is plain ASCII or has other characters.
func latin1(s string) (string, bool) {
	var b strings.Builder
	wide := false
	for i, r := range s {
		if r > 0xff || r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return "", false
		}
		wide = wide || r >= utf8.RuneSelf
		b.WriteByte(byte(r))
	}
	return b.String(), wide
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hasUTF8 reports whether b has a multi-byte character in valid UTF-8.
func hasUTF8(b []byte) bool {
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if size > 1 && r != utf8.RuneError {
			return true
		}
		b = b[size:]
	}
	return false
}

// lines returns the line, from 1, on which each span starts.
func (t *Text) lines(spans []span) []int {
	newline := []byte(lf)
	if t.folded().old {
		newline = []byte(cr)
	}
	list := make([]int, 0, len(spans))
	line, at := 1, 0
	for _, s := range spans {
		line += bytes.Count(t.body[at:s.start], newline)
		at = s.start
		list = append(list, line)
	}
	return list
}
