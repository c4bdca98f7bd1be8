package analysis

import (
	"path"
	"strings"
)

// readPython reads the import statements, wherever in the file they stand.
func readPython(s *source, name string, data []byte) {
	for _, statement := range pythonStatements(string(data)) {
		switch {
		case strings.HasPrefix(statement, "import "):
			for _, item := range strings.Split(statement[len("import "):], ",") {
				s.add(firstWord(item))
			}
		case strings.HasPrefix(statement, "from "):
			s.addFrom(statement[len("from "):])
		case strings.HasPrefix(statement, "if __name__"):
			s.main = true
		}
	}
	s.main = s.main || path.Base(name) == "__main__.py"
}

// addFrom notes "MODULE import A, B as C".
func (s *source) addFrom(rest string) {
	module, list, ok := strings.Cut(rest, " import ")
	if !ok {
		if module, list, ok = strings.Cut(rest, " import("); !ok {
			return
		}
	}
	module = strings.TrimSpace(module)
	name := strings.TrimLeft(module, ".")
	from := imported{name: strings.TrimSpace(name), level: len(module) - len(name)}
	for _, item := range strings.Split(strings.Trim(strings.TrimSpace(list), "()"), ",") {
		if member := firstWord(item); member != "" && member != "*" {
			from.members = append(from.members, member)
		}
	}
	s.imports = append(s.imports, from)
}

func firstWord(s string) string {
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// pythonStatements are the simple statements that begin a line or follow a
// semicolon, each on one line with single blanks, without comments and
// strings.
func pythonStatements(code string) []string {
	var statements []string
	for _, line := range strings.Split(joinPythonLines(code), "\n") {
		for _, statement := range strings.Split(line, ";") {
			if statement = strings.Join(strings.Fields(statement), " "); statement != "" {
				statements = append(statements, statement)
			}
		}
	}
	return statements
}

// joinPythonLines takes out comments and the contents of strings, and joins
// the lines of what stands in brackets or ends in a backslash.
func joinPythonLines(code string) string {
	var out strings.Builder
	depth := 0
	for i := 0; i < len(code); {
		switch c := code[i]; {
		case c == '#':
			if end := strings.IndexByte(code[i:], '\n'); end >= 0 {
				i += end
			} else {
				i = len(code)
			}
		case c == '"' || c == '\'':
			i += pythonStringLength(code[i:])
			out.WriteString(`""`)
		case c == '\\' && strings.HasPrefix(code[i+1:], "\r\n"):
			i += 3
		case c == '\\' && strings.HasPrefix(code[i+1:], "\n"):
			i += 2
		case c == '\n' && depth > 0:
			out.WriteByte(' ')
			i++
		default:
			depth = max(0, depth+bracket(c))
			out.WriteByte(c)
			i++
		}
	}
	return out.String()
}

func bracket(c byte) int {
	switch c {
	case '(', '[', '{':
		return 1
	case ')', ']', '}':
		return -1
	}
	return 0
}

// pythonStringLength is the length of the string that code begins with.
func pythonStringLength(code string) int {
	if triple := strings.Repeat(code[:1], 3); strings.HasPrefix(code, triple) {
		for i := 3; i < len(code); i++ {
			if code[i] == '\\' {
				i++
			} else if strings.HasPrefix(code[i:], triple) {
				return i + 3
			}
		}
		return len(code)
	}
	for i := 1; i < len(code); i++ {
		switch code[i] {
		case '\\':
			i++
		case code[0]:
			return i + 1
		case '\n':
			return i
		}
	}
	return len(code)
}
