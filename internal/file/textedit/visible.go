package textedit

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible makes invisible characters of s visible: a space as ·, a tab as →, a carriage return as ␍, and other
// blanks, combining marks and control characters by number, as \u{a0}. Bytes that are not UTF-8 are shown as \xff.
// Newlines stay.
func Visible(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, size := decodeWTF8([]byte(s[:min(len(s), 4)]))
		writeVisible(&b, r, s[:size])
		s = s[size:]
	}
	return b.String()
}

func writeVisible(b *strings.Builder, r rune, raw string) {
	switch {
	case r == ' ':
		b.WriteString("·")
	case r == '\t':
		b.WriteString("→")
	case r == '\r':
		b.WriteString("␍")
	case r == '\n', r > ' ' && r < 0x7f:
		b.WriteString(raw)
	case r == unicode.ReplacementChar && len(raw) == 1:
		fmt.Fprintf(b, `\x%02x`, raw[0])
	case unicode.IsSpace(r), !unicode.IsPrint(r), unicode.Is(unicode.M, r):
		fmt.Fprintf(b, `\u{%x}`, r)
	default:
		b.WriteString(raw)
	}
}
