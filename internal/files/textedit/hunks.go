package textedit

import (
	"bytes"
	"fmt"
	"strings"
)

// change is a run of removed lines old[a0:a1] and added lines new[b0:b1].
type change struct{ a0, a1, b0, b1 int }

// changes lists the differences in order.
func (c comparison) changes() []change {
	var list []change
	for i, j := 0, 0; i < len(c.old.lines) || j < len(c.new.lines); i, j = i+1, j+1 {
		ch := change{a0: i, b0: j}
		for c.old.changed[i] {
			i++
		}
		for c.new.changed[j] {
			j++
		}
		if ch.a1, ch.b1 = i, j; i > ch.a0 || j > ch.b0 {
			list = append(list, ch)
		}
	}
	return list
}

// write writes the hunks, each with the heading of what it lies in if that is
// asked for.
func (c comparison) write(b *strings.Builder, context int, headed bool) {
	list := c.changes()
	heading, searched := "", -1
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].a0-list[n-1].a1 <= 2*context {
			n++
		}
		start := max(list[0].a0-context, 0)
		if found := c.heading(start-1, searched); headed && found != "" {
			heading = found
		}
		searched = start - 1
		c.writeHunk(b, list[:n], context, heading)
		list = list[n:]
	}
}

func (c comparison) writeHunk(b *strings.Builder, list []change, context int, heading string) {
	first, last := list[0], list[len(list)-1]
	before := min(first.a0, first.b0, context)
	after := min(len(c.old.lines)-last.a1, len(c.new.lines)-last.b1, context)
	b.WriteString("@@ -" + position(first.a0-before, last.a1+after) + " +" + position(first.b0-before, last.b1+after) +
		" @@")
	if heading != "" {
		b.WriteString(" " + heading)
	}
	b.WriteByte('\n')
	at := first.a0 - before
	for _, ch := range list {
		writeLines(b, ' ', c.old.lines[at:ch.a0])
		writeLines(b, '-', c.old.lines[ch.a0:ch.a1])
		writeLines(b, '+', c.new.lines[ch.b0:ch.b1])
		at = ch.a1
	}
	writeLines(b, ' ', c.old.lines[at:last.a1+after])
}

// position is the first line, from 1, and the number of lines of a hunk. A
// hunk without lines is placed after the line that it names.
func position(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	default:
		return fmt.Sprintf("%d,%d", from+1, to-from)
	}
}

func writeLines(b *strings.Builder, mark byte, lines [][]byte) {
	for _, line := range lines {
		b.WriteByte(mark)
		b.Write(line)
		if !bytes.HasSuffix(line, []byte(lf)) {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// headingSize bounds the heading of a hunk, in bytes.
const headingSize = 80

// heading is the last line up to from, and after limit, that begins like a
// declaration: with a letter, '_' or '$'.
func (c comparison) heading(from, limit int) string {
	for i := from; i > limit; i-- {
		line := c.old.lines[i]
		if first := line[0]; first == '_' || first == '$' || first|0x20 >= 'a' && first|0x20 <= 'z' {
			return string(bytes.TrimRight(line[:min(len(line), headingSize)], " \t\r\n"))
		}
	}
	return ""
}
