package search

import (
	"regexp/syntax"
	"strings"
)

// ForRipgrep is the query's pattern in the syntax of ripgrep, and the arguments that it needs. The two agree on all
// that Go writes, but for \b and \B, which are about ASCII in Go. ok is false for a pattern with a part that matches
// nothing at all, which ripgrep takes for a mistake.
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
