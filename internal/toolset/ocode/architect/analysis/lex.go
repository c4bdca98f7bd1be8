package analysis

import (
	"bytes"
	"strings"
)

// syntax is what distinguishes a language's code from its comments.
type syntax struct {
	line        string // begins a comment that ends with the line
	open, close string // around a comment; empty for none
	quotes      string // bytes that begin and end a string
	multiline   string // those of quotes whose strings may span lines
	nested      bool   // comments nest
}

var (
	cSyntax      = syntax{line: "//", open: "/*", close: "*/", quotes: "\"'"}
	scriptSyntax = syntax{line: "//", open: "/*", close: "*/", quotes: "\"'`", multiline: "`"}
	rustSyntax   = syntax{line: "//", open: "/*", close: "*/", quotes: "\"", multiline: "\"", nested: true}
)

// uncomment replaces comments by a blank. Line ends within strings become blanks, so that a
// statement stays one. It is not a parser: a comment sign in a regular expression counts as one.
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

// lengthTo is the length of data before the first end, all of it without one.
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

// stringLength is the length of the string that data begins with, quotes included. An unclosed
// string ends with its line.
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
