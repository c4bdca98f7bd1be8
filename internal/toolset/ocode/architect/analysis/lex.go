package analysis

import (
	"bytes"
	"strings"
)

type syntax struct {
	line        string // starts a line comment
	open, close string // around a comment; may be empty
	quotes      string // bytes that start and end a string
	multiline   string // quotes whose strings may span lines
	nested      bool   // comments nest
}

var (
	cSyntax      = syntax{line: "//", open: "/*", close: "*/", quotes: "\"'"}
	scriptSyntax = syntax{line: "//", open: "/*", close: "*/", quotes: "\"'`", multiline: "`"}
	rustSyntax   = syntax{line: "//", open: "/*", close: "*/", quotes: "\"", multiline: "\"", nested: true}
)

// uncomment replaces each comment by a blank. Newlines within strings become blanks, so that a
// statement stays on one line. It is not a parser: a comment sign in a regular expression counts
// as one.
func (x syntax) uncomment(data []byte) string {
	var out strings.Builder
	out.Grow(len(data))
	for i := 0; i < len(data); {
		rest := data[i:]
		switch {
		case hasPrefix(rest, x.line):
			i += lengthTo(rest, "\n")
		case x.open != "" && hasPrefix(rest, x.open):
			out.WriteByte(' ')
			i += x.commentLength(rest)
		case strings.IndexByte(x.quotes, data[i]) >= 0:
			n := x.stringLength(rest)
			out.WriteString(strings.ReplaceAll(string(rest[:n]), "\n", " "))
			i += n
		default:
			out.WriteByte(data[i])
			i++
		}
	}
	return out.String()
}

func hasPrefix(data []byte, prefix string) bool {
	return prefix != "" && len(data) >= len(prefix) && string(data[:len(prefix)]) == prefix
}

// lengthTo returns the length up to the first end, or of all data.
func lengthTo(data []byte, end string) int {
	if n := bytes.Index(data, []byte(end)); n >= 0 {
		return n
	}
	return len(data)
}

func (x syntax) commentLength(data []byte) int {
	depth := 0
	for i := 0; i < len(data); {
		switch {
		case hasPrefix(data[i:], x.close):
			i += len(x.close)
			if depth--; depth <= 0 {
				return i
			}
		case hasPrefix(data[i:], x.open) && (x.nested || i == 0):
			depth++
			i += len(x.open)
		default:
			i++
		}
	}
	return len(data)
}

// stringLength returns the length of the string that data starts with, including quotes. An
// unclosed string ends with its line.
func (x syntax) stringLength(data []byte) int {
	quote := data[0]
	multiline := strings.IndexByte(x.multiline, quote) >= 0
	for i := 1; i < len(data); i++ {
		switch {
		case data[i] == '\\':
			i++
		case data[i] == quote:
			return i + 1
		case data[i] == '\n' && !multiline:
			return i
		}
	}
	return len(data)
}
