package textedit

import (
	"bytes"
	"sort"
	"strings"
)

const (
	lf   = "\n"
	crlf = "\r\n"
	cr   = "\r"
)

// endings is a text with all its line endings converted to "\n".
type endings struct {
	alike []byte
	// dropped has the offsets in alike, ascending, of newlines that have two bytes in the text.
	dropped []int
	// old is set if the text's only line ending is "\r".
	old bool
}

func makeEndings(body []byte) *endings {
	if bytes.IndexByte(body, '\r') < 0 {
		return &endings{alike: body}
	}
	if bytes.IndexByte(body, '\n') < 0 {
		return &endings{alike: bytes.ReplaceAll(body, []byte(cr), []byte(lf)), old: true}
	}
	e := &endings{alike: make([]byte, 0, len(body))}
	for {
		i := bytes.Index(body, []byte(crlf))
		if i < 0 {
			e.alike = append(e.alike, body...)
			return e
		}
		e.alike = append(e.alike, body[:i]...)
		e.dropped = append(e.dropped, len(e.alike))
		e.alike = append(e.alike, '\n')
		body = body[i+2:]
	}
}

// mixed reports whether the text has both "\n" and "\r\n".
func (t *Text) mixed() bool {
	e := t.folded()
	return len(e.dropped) > 0 && len(e.dropped) < bytes.Count(e.alike, []byte(lf))
}

// raw converts an offset in e.alike to one in the text. A newline's is that of the whole line ending.
func (e *endings) raw(offset int) int {
	return offset + sort.SearchInts(e.dropped, offset)
}

func (e *endings) folds(offset int) int {
	return offset - sort.Search(len(e.dropped), func(i int) bool { return e.dropped[i]+i >= offset })
}

func foldEndings(s string, old bool) string {
	s = strings.ReplaceAll(s, crlf, lf)
	if old {
		s = strings.ReplaceAll(s, cr, lf)
	}
	return s
}

// hasEnding reports whether s has a line ending. A lone "\r" is one only if the file has no other.
func (t *Text) hasEnding(s string) bool {
	return strings.Contains(s, lf) || t.folded().old && strings.Contains(s, cr)
}

func (t *Text) folded() *endings {
	if t.ends == nil {
		t.ends = makeEndings(t.body)
	}
	return t.ends
}

func (t *Text) endingsIn(start, end int) []string {
	if t.folded().old {
		return repeat(cr, bytes.Count(t.body[start:end], []byte(cr)))
	}
	var list []string
	for i := start; i < end; i++ {
		j := bytes.IndexByte(t.body[i:end], '\n')
		if j < 0 {
			break
		}
		i += j
		if i > 0 && t.body[i-1] == '\r' {
			list = append(list, crlf)
		} else {
			list = append(list, lf)
		}
	}
	return list
}

func repeat(s string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = s
	}
	return list
}

// endingNear returns the ending of the line at offset or, on the last line, of the previous one. It is "" in a text
// of one line.
func (t *Text) endingNear(offset int) string {
	if t.folded().old {
		return cr
	}
	if n := &t.near; n.known && n.from <= offset && offset <= n.until {
		return n.ending
	}
	until := len(t.body)
	i := bytes.IndexByte(t.body[offset:], '\n')
	if i >= 0 {
		i += offset
		until = i
	} else {
		i = bytes.LastIndexByte(t.body[:offset], '\n')
	}
	ending := lf
	switch {
	case i < 0:
		ending = ""
	case i > 0 && t.body[i-1] == '\r':
		ending = crlf
	}
	t.near = nearEnding{true, offset, until, ending}
	return ending
}

// nearEnding is the ending for a range of offsets.
type nearEnding struct {
	known       bool
	from, until int
	ending      string
}

// adapt replaces the "\n" endings of s by those of list in turn, and then by near.
func adapt(s string, list []string, near string) string {
	if len(list) > 0 {
		near = list[len(list)-1]
	}
	if near == "" || !strings.Contains(s, lf) {
		return s
	}
	var b strings.Builder
	for n := 0; ; n++ {
		i := strings.IndexByte(s, '\n')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		if n < len(list) {
			b.WriteString(list[n])
		} else {
			b.WriteString(near)
		}
		s = s[i+1:]
	}
}
