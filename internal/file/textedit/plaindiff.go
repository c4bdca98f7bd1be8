package textedit

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Unified returns the difference of two texts as diff -u does, with context lines around each change: the
// headers follow "--- " and "+++ " verbatim. It is "" if they are equal. Binary data is not recognized.
func Unified(oldHeader, newHeader string, old, new []byte, context int) string {
	if bytes.Equal(old, new) {
		return ""
	}
	old, new = diffable(old, new)
	var b strings.Builder
	b.WriteString("--- " + oldHeader + "\n+++ " + newHeader + "\n")
	compare(old, new).write(&b, max(context, 0))
	return b.String()
}

// gutter is the least width between the columns of a side-by-side difference.
const gutter = 3

// SideBySide returns two texts in columns, in lines of width characters, as diff -y -t does: between them is | for
// a changed line, < or > if there is none on the other side. Lines longer than a column are cut.
func SideBySide(old, new []byte, width int) string {
	old, new = diffable(old, new)
	right := width>>1 + (1+gutter)>>1 + (width & (1 + gutter) & 1)
	c := columns{half: max(0, min(right-gutter, width-right)), right: right}
	if c.half == 0 {
		c.right = width
	}
	diff := compare(old, new)
	a, b := 0, 0
	for _, ch := range diff.changes {
		for ; a < ch.a0; a, b = a+1, b+1 {
			c.line(diff.old[a], ' ', diff.new[b])
		}
		for ; a < ch.a1 && b < ch.b1; a, b = a+1, b+1 {
			c.line(diff.old[a], '|', diff.new[b])
		}
		for ; a < ch.a1; a++ {
			c.line(diff.old[a], '<', "")
		}
		for ; b < ch.b1; b++ {
			c.line("", '>', diff.new[b])
		}
	}
	for ; a < len(diff.old); a, b = a+1, b+1 {
		c.line(diff.old[a], ' ', diff.new[b])
	}
	return c.out.String()
}

type columns struct {
	out strings.Builder
	// half is the width of each column, right where the second starts.
	half, right int
}

func (c *columns) line(left string, mark byte, right string) {
	ended := strings.HasSuffix(left, lf)
	at := c.writeCell(left)
	if mark != ' ' {
		at = c.pad(at, (c.half+c.right-1)/2) + 1
		if mark == '|' && ended != strings.HasSuffix(right, lf) {
			mark = '\\'
			if ended {
				mark = '/'
			}
		}
		c.out.WriteByte(mark)
	}
	if right != "" {
		ended = ended || strings.HasSuffix(right, lf)
		if right[0] != '\n' {
			c.pad(at, c.right)
			c.writeCell(right)
		}
	}
	if ended {
		c.out.WriteByte('\n')
	}
}

func (c *columns) pad(at, to int) int {
	for ; at < to; at++ {
		c.out.WriteByte(' ')
	}
	return at
}

// writeCell writes what fits of a line into a column, and returns its width.
func (c *columns) writeCell(line string) (width int) {
	for len(line) > 0 {
		r, size := utf8.DecodeRuneInString(line)
		chunk := line[:size]
		line = line[size:]
		switch {
		case r == '\n':
			return width
		case r == '\t':
			stop := width + 8 - width%8
			for width < min(stop, c.half) {
				c.out.WriteByte(' ')
				width++
			}
		case r < ' ' || r == 0x7f:
			c.out.WriteString(chunk) // has no width
		case width < c.half:
			c.out.WriteString(chunk)
			width++
		}
	}
	return width
}
