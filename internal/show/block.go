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
// on below, behind a colon, before a terminal breaks the line by itself.
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
		for i, part := range wrap(shown, max(width, 20)-2) {
			b.WriteString([]string{"| ", ": "}[min(i, 1)])
			b.WriteString(part)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// wrap cuts a line into parts of at most width columns.
func wrap(line string, width int) (parts []string) {
	columns, from := 0, 0
	for i, r := range line {
		n := columnsOf(r, columns)
		if columns+n > width && i > from {
			parts = append(parts, line[from:i])
			columns, from = 0, i
			n = columnsOf(r, 0)
		}
		columns += n
	}
	return append(parts, line[from:])
}

// columnsOf is how many columns a character takes at most.
func columnsOf(r rune, at int) int {
	switch {
	case r == '\t':
		return 8 - at%8
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
		n += columnsOf(r, n)
	}
	return n
}
