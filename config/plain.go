package config

import "bytes"

// maxPlainDepth is how deep the blocks of a plain file may lie in each other.
const maxPlainDepth = 8

// plain reports whether a file is so simple that parsing it can exhaust
// nothing: every line is blank, a comment, the head of a block, its end, or an
// attribute with a number, true, false or a text without escapes and templates.
// Most files that only declare plugins and servers are, and looking at their
// bytes costs a fraction of looking at their tokens.
func plain(src []byte) bool {
	depth := 0
	for line := range bytes.Lines(src) {
		line = bytes.Trim(line, " \t\r\n")
		switch {
		case len(line) == 0 || line[0] == '#' || bytes.HasPrefix(line, []byte("//")):
		case string(line) == "}":
			depth--
		case plainHead(line):
			depth++
		case !plainAttribute(line):
			return false
		}
		if depth < 0 || depth > maxPlainDepth {
			return false
		}
	}
	return depth == 0
}

// cutPlainName cuts a name and the blanks behind it off a line.
func cutPlainName(line []byte) (rest []byte, ok bool) {
	n := 0
	for n < len(line) && (line[n] >= 'a' && line[n] <= 'z' || line[n] >= 'A' && line[n] <= 'Z' || line[n] == '_' || n > 0 && line[n] >= '0' && line[n] <= '9') {
		n++
	}
	return bytes.TrimLeft(line[n:], " \t"), n > 0
}

// cutPlainText cuts a text in quotes and the blanks behind it off a line.
func cutPlainText(line []byte) (rest []byte, ok bool) {
	if len(line) == 0 || line[0] != '"' {
		return line, false
	}
	for i := 1; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			return bytes.TrimLeft(line[i+1:], " \t"), true
		case c == '\\' || c == '$' || c == '%' || c < ' ' || c > '~':
			return line, false
		}
	}
	return line, false
}

// plainHead matches NAME "LABEL" ... {.
func plainHead(line []byte) bool {
	rest, ok := cutPlainName(line)
	for ok && len(rest) > 0 && rest[0] == '"' {
		rest, ok = cutPlainText(rest)
	}
	return ok && string(rest) == "{"
}

// plainAttribute matches NAME = VALUE.
func plainAttribute(line []byte) bool {
	rest, ok := cutPlainName(line)
	if !ok || len(rest) == 0 || rest[0] != '=' {
		return false
	}
	value := bytes.TrimLeft(rest[1:], " \t")
	if after, ok := cutPlainText(value); ok {
		return len(after) == 0
	}
	return string(value) == "true" || string(value) == "false" ||
		len(value) > 0 && len(value) < 19 && len(bytes.Trim(value, "0123456789")) == 0
}
