package textedit

import (
	"bytes"
	"fmt"
	"strings"
)

// Near is a place in a file that comes close to a text that is not there.
type Near struct {
	// Line is where the place begins, from 1.
	Line int `json:"line"`
	// Text is what the file has there, without the last line ending: as many
	// lines as the text that was looked for where WhitespaceOnly is set, one
	// line otherwise. A very long line is cut to the part that is closest.
	Text string `json:"text"`
	// Visible is Text as Visible shows it.
	Visible string `json:"visible"`
	// WhitespaceOnly is true when the place differs in whitespace only.
	WhitespaceOnly bool `json:"whitespace_only"`
}

// maxWhole bounds the lines of a place that an error shows whole.
const maxWhole = 30

// Nearest gives up to limit places in the text that come closest to old, best
// first. Its time is linear in the size of the text.
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

// splitLines cuts text into lines without their "\n", or "\r" where that is
// the line ending. An empty piece after the last ending is no line.
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

// blank reports whether r counts as whitespace: it leaves no ink.
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

// sameButWhitespace finds runs of whole lines that are old but for whitespace.
// Blank lines around old do not count.
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

// squeezeLines gives the lines without whitespace, with a newline before each
// and one at the end.
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
