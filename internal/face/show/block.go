package show

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Width is how many columns a block takes where nobody knows how many there are.
const Width = 78

// Block shows a text of several lines so that none of them passes for a line of
// those around it: each begins with a bar. What is longer than width columns goes
// on below, behind a colon, before a terminal breaks the line by itself. A width
// of 0 breaks nothing.
func Block(s string, width int) string { return block(s, width, letters|layout) }

// Prose is Block for texts that are for reading, such as what a file will hold:
// their letters may be of any script.
func Prose(s string, width int) string { return block(s, width, letters|writing|layout) }

func block(s string, width int, m mode) string {
	if s == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		shown := render(strings.TrimSuffix(line, "\n"), m)
		for i, part := range wrap(shown, room(width, len(bar))) {
			b.WriteString([]string{bar, further}[min(i, 1)])
			b.WriteString(part)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// What stands before a line of a text of several, and before what did not fit
// into one.
const (
	bar     = "| "
	further = ": "
)

// room is how many columns are left behind a margin.
func room(width, margin int) int {
	if width <= 0 {
		return 0
	}
	return max(width, 20) - margin
}

// Note shows a text that stands behind a mark or a margin of that many columns,
// two at least. Whatever of it is not in the first line has a bar or a colon
// before it, so that it passes for nothing else. It ends with a line's end.
func Note(s string, margin, width int) string {
	first, rest, _ := strings.Cut(strings.TrimRight(s, "\n"), "\n")
	indent := strings.Repeat(" ", margin-len(bar))
	var b strings.Builder
	for i, part := range cut(render(first, letters|writing|layout), room(width, margin), true) {
		if i > 0 {
			b.WriteString(indent + further)
		}
		b.WriteString(part + "\n")
	}
	for line := range strings.Lines(Prose(rest, width-len(indent))) {
		b.WriteString(indent + line)
	}
	return b.String()
}

// wrap cuts a line into parts of at most width columns; 0 is for any number.
func wrap(line string, width int) []string { return cut(line, width, false) }

// cut is wrap, between words where it may be and that leaves no part short.
func cut(line string, width int, words bool) (parts []string) {
	if width <= 0 {
		return []string{line}
	}
	taken, from := 0, 0
	for i, r := range line {
		n := columnsOf(r)
		if taken+n > width && i > from {
			end := i
			if space := strings.LastIndexByte(line[from:i], ' '); words && space > (i-from)/2 {
				end = from + space + 1
			}
			parts = append(parts, line[from:end])
			taken, from = columns(line[end:i]), end
		}
		taken += n
	}
	return append(parts, line[from:])
}

// Fit is as much of a line as fits into width columns, with an ellipsis where that
// is not all.
func Fit(line string, width int) string {
	switch {
	case columns(line) <= width:
		return line
	case width <= 1:
		return "…"
	}
	return wrap(line, width-1)[0] + "…"
}

// columnsOf is how many columns a character takes at most.
func columnsOf(r rune) int {
	switch {
	case r == '\t':
		return 8 // to the next stop, wherever the line begins
	case r >= 0x1100:
		return 2
	}
	return 1
}

// Digest names a text that is too long to be read where it is asked about.
func Digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// columns is how many columns a line takes at most.
func columns(line string) (n int) {
	for _, r := range line {
		n += columnsOf(r)
	}
	return n
}
