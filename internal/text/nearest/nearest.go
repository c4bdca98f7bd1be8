// Package nearest finds the probable meaning of a misspelled name: Typo allows only for a typo, Name and Names
// guess.
package nearest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
)

const (
	// alike is the least likeness, from 0 to 1, of a suggested name.
	alike = 0.6
	// maxLength and MaxNames limit the time of a search. With more names it returns nothing.
	maxLength = 64
	MaxNames  = 2000
)

// Name returns the name most like given, "" if none is similar.
func Name(given string, known []string) string {
	if names := find(given, known, 1, likeness); len(names) > 0 {
		return names[0]
	}
	return ""
}

// Hint returns next, preceded by the question whether the most similar name was meant, if there is
// one.
func Hint(given string, known []string, next string) string {
	if near := Name(given, known); near != "" {
		return strings.TrimSpace(fmt.Sprintf("Did you mean %q? %s", near, next))
	}
	return next
}

// Names returns up to limit names that are like given or contain it, most similar first.
func Names(given string, known []string, limit int) []string {
	return find(given, known, limit, func(given, name string) float64 {
		if len(given) > 2 && strings.Contains(name, given) {
			return max(likeness(given, name), 0.7)
		}
		return likeness(given, name)
	})
}

func find(given string, known []string, limit int, likeness func(given, name string) float64) []string {
	if given == "" || len(given) > maxLength || len(known) > MaxNames {
		return nil
	}
	type candidate struct {
		name     string
		likeness float64
	}
	var found []candidate
	for _, name := range known {
		if l := likeness(strings.ToLower(given), strings.ToLower(name)); l >= alike {
			found = append(found, candidate{name, l})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(b.likeness, a.likeness) })
	var names []string
	for _, c := range found[:min(limit, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// likeness is from 0 to 1. Matching a name's first word counts about as much as the name.
func likeness(given, name string) float64 {
	if word := strings.IndexAny(name, "-_."); word > 2 && len(given) > 2 {
		return max(spelling(given, name), 0.9*spelling(given, name[:word]))
	}
	return spelling(given, name)
}

func spelling(given, name string) float64 {
	l := levenshtein.Match(given, name, nil)
	if sorted(given) == sorted(name) {
		return max(l, 0.8) // letters in another order
	}
	return l
}

// Typo returns the name that differs from given in one or two letters, "" if there is none.
func Typo(given string, known []string) string {
	best, distance := "", 3
	if len(given) > maxLength || len(known) > MaxNames {
		return ""
	}
	for _, name := range known {
		a, b := strings.ToLower(given), strings.ToLower(name)
		d := levenshtein.Distance(a, b, nil)
		if d < distance && d < max(len(given), 2) && (d < 2 || len(given) > 4 || akin(a, b)) {
			best, distance = name, d
		}
	}
	return best
}

// akin distinguishes typos from unrelated short names, which differ in half of their letters: in a typo letters
// are missing or in another order.
func akin(given, name string) bool {
	rest := []rune(name)
	for _, letter := range given {
		i := slices.Index(rest, letter)
		if i < 0 {
			return sorted(given) == sorted(name)
		}
		rest = rest[i+1:]
	}
	return true
}

func sorted(s string) string {
	letters := []rune(s)
	slices.Sort(letters)
	return string(letters)
}
