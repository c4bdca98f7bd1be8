package textedit

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff/lcs"
)

// change is a run of removed lines old[a0:a1] and added lines new[b0:b1].
type change struct{ a0, a1, b0, b1 int }

// comparison is the difference of two texts. Lines include their endings.
type comparison struct {
	old, new []string
	changes  []change // in order
}

func compare(old, new []byte) *comparison {
	c := &comparison{old: linesOf(old), new: linesOf(new)}
	c.search(change{0, len(c.old), 0, len(c.new)})
	c.lower()
	return c
}

func linesOf(text []byte) []string {
	lines := strings.SplitAfter(string(text), lf)
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	return lines
}

// search adds the changes in a part of both texts. The library bounds its work, and returns the middle of many
// differences as one change, which is searched again.
func (c *comparison) search(part change) {
	for _, d := range lcs.DiffLines(c.old[part.a0:part.a1], c.new[part.b0:part.b1]) {
		found := change{part.a0 + d.Start, part.a0 + d.End, part.b0 + d.ReplStart, part.b0 + d.ReplEnd}
		if found == part || found.a0 == found.a1 || found.b0 == found.b1 {
			c.changes = append(c.changes, found)
		} else {
			c.search(found)
		}
	}
}

// lower moves lines that were only added or only removed as far down as possible, as diff does.
func (c *comparison) lower() {
	for i := len(c.changes) - 1; i >= 0; i-- {
		ch := &c.changes[i]
		end := len(c.old)
		if i+1 < len(c.changes) {
			end = c.changes[i+1].a0
		}
		lines, from, to := c.old, &ch.a0, &ch.a1
		if ch.a0 == ch.a1 {
			lines, from, to = c.new, &ch.b0, &ch.b1
		} else if ch.b0 != ch.b1 {
			continue
		}
		for ch.a1 < end && lines[*from] == lines[*to] {
			ch.a0, ch.a1, ch.b0, ch.b1 = ch.a0+1, ch.a1+1, ch.b0+1, ch.b1+1
		}
		if i+1 < len(c.changes) && ch.a1 == end { // it touches the next one
			ch.a1, ch.b1 = c.changes[i+1].a1, c.changes[i+1].b1
			c.changes = append(c.changes[:i+1], c.changes[i+2:]...)
		}
	}
}

func (c *comparison) write(b *strings.Builder, context int) {
	for list := c.changes; len(list) > 0; {
		n := 1
		for n < len(list) && list[n].a0-list[n-1].a1 <= 2*context {
			n++
		}
		c.writeHunk(b, list[:n], context)
		list = list[n:]
	}
}

func (c *comparison) writeHunk(b *strings.Builder, list []change, context int) {
	first, last := list[0], list[len(list)-1]
	before := min(first.a0, first.b0, context)
	after := min(len(c.old)-last.a1, len(c.new)-last.b1, context)
	fmt.Fprintf(b, "@@ -%s +%s @@\n", position(first.a0-before, last.a1+after), position(first.b0-before, last.b1+after))
	at := first.a0 - before
	for _, ch := range list {
		writeLines(b, ' ', c.old[at:ch.a0])
		writeLines(b, '-', c.old[ch.a0:ch.a1])
		writeLines(b, '+', c.new[ch.b0:ch.b1])
		at = ch.a1
	}
	writeLines(b, ' ', c.old[at:last.a1+after])
}

// position returns the first line, from 1, and the number of lines of a hunk. A hunk without lines comes after the
// line that it names.
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

func writeLines(b *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		b.WriteByte(mark)
		b.WriteString(line)
		if !strings.HasSuffix(line, lf) {
			b.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
