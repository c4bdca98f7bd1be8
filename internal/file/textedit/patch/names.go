package patch

import (
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

const devNull = "/dev/null"

// headerName parses the name of a "---" or "+++" line. A tab and anything may follow, or blanks and a date.
func headerName(rest string) (name, stamp string) {
	rest = strings.TrimRight(rest, "\r\n")
	if strings.HasPrefix(rest, `"`) {
		if name, after, ok := unquote(rest); ok {
			return name, strings.TrimSpace(after)
		}
	}
	if name, stamp, ok := strings.Cut(rest, "\t"); ok {
		return strings.TrimRight(name, " "), stamp
	}
	if !strings.ContainsAny(rest, " \f\r") {
		return rest, "" // the usual case, without the cost of the pattern
	}
	if at := datePattern().FindStringIndex(rest); at != nil {
		return rest[:at[0]], strings.TrimSpace(rest[at[0]:])
	}
	return strings.TrimRight(rest, " "), ""
}

// datePattern matches diff's date after a name if the tab before it was lost.
var datePattern = regexlimit.Lazy(`\s+(\d{4}-\d\d-\d\d[ T]\d\d:\d\d|(Mon|Tue|Wed|Thu|Fri|Sat|Sun) ` +
	`(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d).*$`)

// isEpoch reports whether a time stamp is diff's for a missing file.
func isEpoch(stamp string) bool {
	return strings.HasPrefix(stamp, "1970-01-01 ") || strings.HasPrefix(stamp, "1969-12-31 ") ||
		strings.HasPrefix(stamp, "Thu Jan  1 00:00:00 1970")
}

func unquote(s string) (name, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			c, size := escape(s[i+1:])
			if size == 0 {
				return "", "", false
			}
			b.WriteByte(c)
			i += size
		default:
			b.WriteByte(s[i])
		}
	}
	return "", "", false
}

// escape parses what follows a backslash; size is 0 if it is not an escape.
func escape(s string) (c byte, size int) {
	if s == "" {
		return 0, 0
	}
	if at := strings.IndexByte(`abtnvfr"\`, s[0]); at >= 0 {
		return "\a\b\t\n\v\f\r\"\\"[at], 1
	}
	if len(s) < 3 || s[0] < '0' || s[0] > '3' {
		return 0, 0
	}
	for _, digit := range []byte(s[:3]) {
		if digit < '0' || digit > '7' {
			return 0, 0
		}
		c = c<<3 | (digit - '0')
	}
	return c, 3
}

// gitNames parses both names of a "diff --git" line. Without quotes it can only be split if both halves name the
// same file.
func gitNames(rest string) (old, new string, ok bool) {
	rest = strings.TrimRight(rest, "\r\n")
	if strings.HasPrefix(rest, `"`) {
		old, rest, ok = unquote(rest)
		if !ok || !strings.HasPrefix(rest, " ") {
			return "", "", false
		}
		new, ok = plainOrQuoted(rest[1:])
		return old, new, ok
	}
	if at := strings.Index(rest, ` "`); at >= 0 && strings.HasSuffix(rest, `"`) {
		new, ok = plainOrQuoted(rest[at+1:])
		return rest[:at], new, ok
	}
	for at := range len(rest) {
		if rest[at] == ' ' && sameFile(rest[:at], rest[at+1:]) {
			return rest[:at], rest[at+1:], true
		}
	}
	old, new, ok = strings.Cut(rest, " ")
	return old, new, ok && !strings.Contains(new, " ")
}

func plainOrQuoted(s string) (string, bool) {
	if !strings.HasPrefix(s, `"`) {
		return s, s != ""
	}
	name, rest, ok := unquote(s)
	return name, ok && strings.TrimSpace(rest) == ""
}

func sameFile(old, new string) bool {
	if old == new {
		return true
	}
	a, okA := strip(old)
	b, okB := strip(new)
	return okA && okB && a == b
}

func strip(name string) (string, bool) {
	_, rest, ok := strings.Cut(name, "/")
	rest = strings.TrimLeft(rest, "/")
	return rest, ok && rest != ""
}

func first(name string) string {
	head, _, _ := strings.Cut(name, "/")
	return head
}

// prefixed reports whether the names certainly have a prefix such as "a/" and "b/": they differ only in their
// first component, or it is one of git's.
func (f *File) prefixed() bool {
	if f.OldName != "" && f.NewName != "" && f.OldName != f.NewName && sameFile(f.OldName, f.NewName) {
		return true
	}
	for _, name := range []string{f.OldName, f.NewName} {
		if name != "" && !slices.Contains([]string{"a", "b", "i", "w", "c", "o"}, first(name)) {
			return false
		}
	}
	return f.OldName != "" || f.NewName != ""
}

// sources returns the paths that the section may mean, the likeliest first: the names without their first
// component, then whole.
func (f *File) sources() []string {
	if f.Kind == Rename || f.Kind == Copy {
		return []string{f.OldName}
	}
	var bare, whole []string
	for _, name := range []string{f.OldName, f.NewName, f.IndexName} {
		if name == "" {
			continue
		}
		whole = append(whole, name)
		if rest, ok := strip(name); ok && name != f.IndexName {
			bare = append(bare, rest)
		}
	}
	slices.SortStableFunc(bare, simpler)
	slices.SortStableFunc(whole, simpler)
	list := append(bare, whole...)
	if f.Kind == Create && !f.prefixed() || f.git && f.OldName == f.NewName {
		list = append(whole, bare...)
	}
	return dedupe(list)
}

// simpler orders names by patch's preference: fewer components, then a shorter last one, then a shorter name.
func simpler(a, b string) int {
	if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
		return d
	}
	if d := len(path.Base(a)) - len(path.Base(b)); d != 0 {
		return d
	}
	return len(a) - len(b)
}

func dedupe(list []string) []string {
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
