package show

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Width is a block's default number of columns.
const Width = 78

// Block shows a text of several lines, each after a bar, so that none can pass for other output. A line longer
// than width continues on the next one, after a colon; width 0 means no limit.
func Block(s string, width int) string { return block(s, width, letters|layout) }

// Prose is Block for texts to read, such as file contents: punctuation and symbols beyond ASCII stay as they are.
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

// Prefixes of a block's lines and continued lines.
const (
	bar     = "| "
	further = ": "
)

// room returns the columns left beside a margin.
func room(width, margin int) int {
	if width <= 0 {
		return 0
	}
	return max(width, 20) - margin
}

// Note shows a text that the caller writes after a mark or margin of at least two columns. Further lines begin
// with a bar or colon, so that none can pass for other output. It ends with a newline.
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

// wrap cuts a line into parts of at most width columns; 0 means no limit.
func wrap(line string, width int) []string { return cut(line, width, false) }

// cut is wrap that, with words set, breaks after a space unless that makes a part less than half as long.
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

// Fit cuts a line to width columns, with an ellipsis.
func Fit(line string, width int) string {
	switch {
	case columns(line) <= width:
		return line
	case width <= 1:
		return "…"
	}
	return wrap(line, width-1)[0] + "…"
}

// columnsOf returns the most columns that a character takes.
func columnsOf(r rune) int {
	switch {
	case r == '\t':
		return 8 // to the next tab stop, at most
	case r >= 0x1100:
		return 2
	}
	return 1
}

// Digest identifies a text that is too long to be shown in full.
func Digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// columns returns the most columns that a line takes.
func columns(line string) (n int) {
	for _, r := range line {
		n += columnsOf(r)
	}
	return n
}
