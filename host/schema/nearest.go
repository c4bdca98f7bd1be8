package schema

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

// Nearest gives the name that is most like s, or "" when none is alike.
func Nearest(s string, names []string) string {
	best, score := "", 0.0
	for _, name := range names {
		match := levenshtein.Match(strings.ToLower(s), strings.ToLower(name), nil)
		if sorted(s) == sorted(name) {
			match = max(match, 0.8) // letters in another order
		}
		if match > score {
			best, score = name, match
		}
	}
	if score < 0.6 {
		return ""
	}
	return best
}

func sorted(s string) string {
	letters := []rune(strings.ToLower(s))
	slices.Sort(letters)
	return string(letters)
}
