package analysis

import (
	"path"
	"strings"

	"github.com/toolhost/toolhost/internal/matching"
)

var (
	rustUse    = matching.Lazy(`(?:^|[;{}\n\s])use\s+([^;]+);`)
	rustExtern = matching.Lazy(`(?:^|[;{}\n\s])extern\s+crate\s+(\w+)`)
	rustMain   = matching.Lazy(`(?m)^\s*(?:pub\s+)?(?:async\s+)?fn\s+main\s*\(`)
)

// maxRustUses bounds how many paths the braces of one declaration stand for.
const maxRustUses = 1000

func readRust(s *source, name string, data []byte) {
	code := rustSyntax.uncomment(data)
	s.main = rustMain().MatchString(code) &&
		(path.Base(name) == "main.rs" || path.Base(path.Dir(name)) == "bin" || path.Base(path.Dir(name)) == "examples")
	for _, match := range rustUse().FindAllStringSubmatch(code, -1) {
		left := maxRustUses
		for _, use := range expandRust("", match[1], &left) {
			s.add(use)
		}
	}
	for _, match := range rustExtern().FindAllStringSubmatch(code, -1) {
		s.add(match[1])
	}
}

// expandRust resolves the braces of a use declaration: "a::{b, c::d}" stands
// for a::b and a::c::d.
func expandRust(prefix, tree string, left *int) []string {
	tree = strings.TrimSpace(tree)
	if *left--; *left < 0 {
		return nil
	}
	open := strings.IndexByte(tree, '{')
	if open < 0 {
		return []string{cleanRust(prefix + tree)}
	}
	prefix += strings.Join(strings.Fields(tree[:open]), "")
	inner := tree[open+1:]
	if end := strings.LastIndexByte(inner, '}'); end >= 0 {
		inner = inner[:end]
	}
	var all []string
	for _, part := range splitTop(inner) {
		if strings.TrimSpace(part) != "" {
			all = append(all, expandRust(prefix, part, left)...)
		}
	}
	return all
}

// cleanRust drops "as NAME", a leading "::" and a trailing "self" or "*".
func cleanRust(use string) string {
	use = firstWord(use)
	use = strings.TrimPrefix(use, "::")
	use = strings.TrimPrefix(use, "r#")
	for _, end := range []string{"::self", "::*"} {
		use = strings.TrimSuffix(use, end)
	}
	return strings.TrimSuffix(use, "::")
}

// splitTop splits at the commas outside of braces.
func splitTop(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, s[from:])
}
