package textedit

import (
	"bytes"
	"fmt"
	"strings"
)

// Near is a place in a file that is similar to a missing text.
type Near struct {
	// Line is where the place starts, from 1.
	Line int `json:"line"`
	// Text is the file's text there, without the last line ending: as many lines as the text searched for if
	// WhitespaceOnly is set, else one line. A very long line is cut to the closest part.
	Text string `json:"text"`
	// Visible is Text as shown by Visible.
	Visible string `json:"visible"`
	// WhitespaceOnly is set if the place differs only in whitespace.
	WhitespaceOnly bool `json:"whitespace_only"`
}

const maxWhole = 30

// Nearest returns up to limit places in the text closest to old, best first. Its time is linear in the size of the
// text.
func (t *Text) Nearest(old string, limit int) []Near {
	old = foldEndings(old, t.folded().old)
	if limit <= 0 || len(squeeze(nil, []byte(old))) == 0 {
		return nil
	}
	lines := splitLines(t.body, t.folded().old)
	if list := sameButWhitespace(lines, old, limit); len(list) > 0 {
		return list
	}
	return similar(lines, strings.Split(old, lf), limit)
}

// Explain lists places for a message, one or more lines each.
func Explain(near []Near) string {
	if len(near) == 0 {
		return ""
	}
	var b strings.Builder
	if near[0].WhitespaceOnly {
		b.WriteString("These lines differ from it in whitespace only (· is a space, → a tab, ␍ a carriage return):")
	} else {
		b.WriteString("Nearest lines (· is a space, → a tab, ␍ a carriage return):")
	}
	for _, n := range near {
		for i, line := range strings.Split(n.Visible, lf) {
			if i == maxWhole {
				fmt.Fprintf(&b, "\n  ... %d more lines", strings.Count(n.Visible, lf)+1-i)
				break
			}
			fmt.Fprintf(&b, "\n  %d: %s", n.Line+i, line)
		}
	}
	return b.String()
}

// splitLines splits text into lines without their "\n", or "\r" if that is the line ending, and without an empty one
// after the last ending.
func splitLines(text []byte, old bool) [][]byte {
	sep := []byte(lf)
	if old {
		sep = []byte(cr)
	}
	lines := bytes.Split(text, sep)
	if last := len(lines) - 1; len(lines[last]) == 0 {
		lines = lines[:last]
	}
	return lines
}

// squeeze appends line without its whitespace to buf.
func squeeze(buf, line []byte) []byte {
	for len(line) > 0 {
		if line[0] > ' ' && line[0] < 0x7f {
			buf, line = append(buf, line[0]), line[1:]
			continue
		}
		r, size := decodeWTF8(line)
		if !blank(r) {
			buf = append(buf, line[:size]...)
		}
		line = line[size:]
	}
	return buf
}

// blank reports whether r is whitespace or invisible.
func blank(r rune) bool {
	switch {
	case r == ' ' || r >= '\t' && r <= '\r':
		return true
	case r < 0x80:
		return false
	}
	return r == 0x85 || r == 0xa0 || r >= 0x2000 && r <= 0x200b || r == 0x2028 || r == 0x2029 ||
		r == 0x202f || r == 0x205f || r == 0x3000 || r == 0xfeff
}

// sameButWhitespace finds runs of whole lines equal to old except for whitespace. Blank lines around old do not
// count.
func sameButWhitespace(lines [][]byte, old string, limit int) []Near {
	want := squeezeLines(bytes.Split([]byte(old), []byte(lf)))
	want = append([]byte(lf), append(bytes.Trim(want, lf), '\n')...)
	count := bytes.Count(want, []byte(lf)) - 1
	text := squeezeLines(lines)
	var list []Near
	for line := 0; len(list) < limit; {
		i := bytes.Index(text, want)
		if i < 0 {
			return list
		}
		line += bytes.Count(text[:i+1], []byte(lf))
		list = append(list, place(line-1, bytes.Join(lines[line-1:line-1+count], []byte(lf)), true))
		text = text[i+1:]
	}
	return list
}

// squeezeLines returns the lines without whitespace, with a newline before each and one at the end.
func squeezeLines(lines [][]byte) []byte {
	text := []byte(lf)
	for _, line := range lines {
		text = append(squeeze(text, line), '\n')
	}
	return text
}

func place(index int, text []byte, whitespaceOnly bool) Near {
	return Near{Line: index + 1, Text: string(text), Visible: Visible(string(text)), WhitespaceOnly: whitespaceOnly}
}
