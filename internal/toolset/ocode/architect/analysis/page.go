package analysis

import (
	"fmt"
	"strings"
)

type page struct{ strings.Builder }

// title starts a section, after a blank line unless it is the first.
func (w *page) title(format string, args ...any) {
	if w.Len() > 0 {
		w.WriteByte('\n')
	}
	w.line(format, args...)
}

func (w *page) line(format string, args ...any) {
	fmt.Fprintf(w, format, args...)
	w.WriteByte('\n')
}

// rest says how many rows were left out, if any.
func (w *page) rest(total, shown int) {
	if total > shown {
		w.line("  ... and %d more", total-shown)
	}
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// plural returns "1 file" and "2 files".
func plural[T int | int64](n T, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
