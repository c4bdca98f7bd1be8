package workspace

import "strings"

// maxMatchSteps limits the work for a hostile pattern; one that needs more matches nothing.
const maxMatchSteps = 1 << 18

// wildmatch matches a path against a .gitignore pattern, bytewise as git does: * and ? stop at slashes, ** between
// slashes matches any directories, brackets hold sets, a backslash escapes the next character.
func wildmatch(pattern, name string) bool {
	// Git compares the literal prefix first and starts the pattern again after it, so a**/b is a and then **/b.
	plain := strings.IndexAny(pattern, `*?[\`)
	if plain < 0 {
		return pattern == name
	}
	if !strings.HasPrefix(name, pattern[:plain]) {
		return false
	}
	m := matcher{pattern: pattern[plain:], steps: maxMatchSteps}
	return m.match(0, name[plain:])
}

type matcher struct {
	pattern string
	steps   int
}

func (m *matcher) match(p int, name string) bool {
	for p < len(m.pattern) {
		if m.steps--; m.steps < 0 {
			return false
		}
		c := m.pattern[p]
		if c == '*' {
			return m.stars(p, name)
		}
		if name == "" {
			return false
		}
		switch c {
		case '?':
			if name[0] == '/' {
				return false
			}
		case '[':
			end, ok := matchSet(m.pattern, p+1, name[0])
			if !ok || name[0] == '/' {
				return false
			}
			p = end
		case '\\':
			if p++; p == len(m.pattern) || m.pattern[p] != name[0] {
				return false
			}
		default:
			if c != name[0] {
				return false
			}
		}
		p, name = p+1, name[1:]
	}
	return name == ""
}

// stars matches one or more asterisks at p and all that follows.
func (m *matcher) stars(p int, name string) bool {
	end := p
	for end < len(m.pattern) && m.pattern[end] == '*' {
		end++
	}
	rest := m.pattern[end:]
	deep := end-p > 1 && (p == 0 || m.pattern[p-1] == '/') &&
		(rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`))
	if deep && rest != "" && rest[0] == '/' && m.match(end+1, name) {
		return true // ** matches no directory
	}
	if rest == "" {
		return deep || !strings.Contains(name, "/")
	}
	for i := 0; i <= len(name); i++ {
		if m.match(end, name[i:]) {
			return true
		}
		if m.steps < 0 || i < len(name) && name[i] == '/' && !deep {
			return false
		}
	}
	return false
}

// matchSet matches c against the set whose first character is at p, and returns the position of its closing
// bracket. An unfinished set matches nothing.
func matchSet(pattern string, p int, c byte) (end int, ok bool) {
	at := func(i int) byte {
		if i < len(pattern) {
			return pattern[i]
		}
		return 0
	}
	negated := at(p) == '!' || at(p) == '^'
	if negated {
		p++
	}
	matched := false
	var last byte // the lower end of a range, if one can start
	for first := true; first || at(p) != ']'; p, first = p+1, false {
		now := at(p)
		switch {
		case now == 0:
			return 0, false
		case now == '-' && last != 0 && at(p+1) != 0 && at(p+1) != ']':
			p++
			if at(p) == '\\' {
				p++
			}
			matched = matched || last <= c && c <= at(p)
			last = 0
			continue
		case now == '[' && at(p+1) == ':':
			if class, ok := className(pattern[p+2:]); ok {
				is, known := inClass(class, c)
				if !known {
					return 0, false
				}
				matched = matched || is
				p += len(class) + 3
				last = 0
				continue
			}
		case now == '\\':
			p++
			now = at(p)
		}
		matched = matched || now == c
		last = now
	}
	return p, matched != negated
}

// className returns the name before ":]" if the next bracket closes one.
func className(s string) (string, bool) {
	i := strings.IndexByte(s, ']')
	if i < 1 || s[i-1] != ':' {
		return "", false
	}
	return s[:i-1], true
}

// inClass implements the POSIX classes, for ASCII.
func inClass(class string, c byte) (is, known bool) {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	graph := '!' <= c && c <= '~'
	switch class {
	case "alnum":
		return lower || upper || digit, true
	case "alpha":
		return lower || upper, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < ' ' || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lower, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !lower && !upper && !digit, true
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r', true
	case "upper":
		return upper, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	}
	return false, false
}
