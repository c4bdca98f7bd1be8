package replay

import (
	"regexp"
	"slices"
	"strings"
)

// normalization names a kind of text that differs from run to run, and finds it.
type normalization struct {
	name  string
	finds *regexp.Regexp
	// not leaves out some of what finds does; nil leaves out none.
	not func(found string) bool
}

// path is the normalization of the workspace's own path.
const path = "path"

// The normalizations, in the order in which they are made: what a later one
// finds may be part of what an earlier one does.
var normalizations = []normalization{
	{"temp", regexp.MustCompile(`(/private)?(/var/folders|/var/tmp|/tmp|/dev/shm)/[^\s"'\\:,;)]+` +
		`|\b(tmp|temp)[._-][A-Za-z0-9]{6,}\b`), nil},
	{"time", regexp.MustCompile(`\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d:?\d\d))?)?` +
		`|\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? \d?\d? ?(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b[ 0-9:A-Z+-]*` +
		`|\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d{1,2} +(\d\d:\d\d|\d{4})(:\d\d)?` +
		`|\b\d\d:\d\d:\d\d([.,]\d+)?\b|\b1[5-9]\d{8}([.]\d+|\d{3}|\d{6}|\d{9})?\b`), nil},
	{"duration", regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?\s?(ns|µs|us|ms|s|secs?|seconds?|minutes?)\b` +
		`|"[a-z_]*(duration|elapsed|took|execution_time|time_ms)[a-z_]*\\?":\s*\d+(\.\d+)?(e-?\d+)?`), nil},
	{"id", regexp.MustCompile(`(?i)\b[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}\b|\bmcp-[A-Z2-7]{10}\b` +
		`|\b(pid|process)[ =:#]+\d+|\b[0-9a-f]{7,64}\b`), isWord},
}

// Normalizations lists the names of the normalizations.
func Normalizations() []string {
	names := []string{path}
	for _, n := range normalizations {
		names = append(names, n.name)
	}
	return names
}

// normalize replaces what the named normalizations find.
func normalize(text string, names []string, root string) string {
	if slices.Contains(names, path) && root != "" {
		text = strings.ReplaceAll(text, root, "<workspace>")
	}
	for _, n := range normalizations {
		if slices.Contains(names, n.name) {
			text = n.finds.ReplaceAllStringFunc(text, func(found string) string {
				if n.not != nil && n.not(found) {
					return found
				}
				return "<" + n.name + ">"
			})
		}
	}
	return text
}

// isWord reports whether a text is a number or a word that has the form of an id
// alone.
func isWord(found string) bool {
	letters, digits := strings.ContainsAny(found, "abcdefABCDEF"), strings.ContainsAny(found, "0123456789")
	return strings.Trim(found, "0123456789abcdefABCDEF") == "" && letters != digits
}

// side is a text and the workspace that it is about.
type side struct{ text, root string }

// equal reports whether two texts are the same after the named normalizations,
// and which of them that takes.
func equal(a, b side, names []string) (needed []string, ok bool) {
	same := func(names []string) bool { return normalize(a.text, names, a.root) == normalize(b.text, names, b.root) }
	if same(nil) {
		return nil, true
	}
	if !same(names) {
		return nil, false
	}
	needed = slices.Clone(names)
	for _, name := range slices.Backward(names) {
		fewer := slices.DeleteFunc(slices.Clone(needed), func(n string) bool { return n == name })
		if same(fewer) {
			needed = fewer
		}
	}
	return needed, true
}
