package search

import (
	"regexp/syntax"
	"strings"
)

// ForRipgrep returns the query's pattern in ripgrep's syntax, and the arguments that it needs. The two agree on
// everything that Go writes except \b and \B, which are ASCII in Go. ok is false for a pattern with a part that
// matches nothing at all, which ripgrep refuses.
func ForRipgrep(q Query) (args []string, ok bool) {
	p, err := compile(q)
	if err != nil || matchesNothing(p.tree) {
		return nil, false
	}
	if !p.raw {
		args = append(args, "--crlf")
	}
	return append(args, "--regexp", strings.NewReplacer(`\\`, `\\`, `\b`, `(?-u:\b)`, `\B`, `(?-u:\B)`).Replace(p.tree.String())),
		true
}

func matchesNothing(re *syntax.Regexp) bool {
	if re.Op == syntax.OpNoMatch {
		return true
	}
	for _, sub := range re.Sub {
		if matchesNothing(sub) {
			return true
		}
	}
	return false
}
