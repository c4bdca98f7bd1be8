package effects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/change"
)

// mostNamed is how many directories and reasons a note names.
const mostNamed = 5

// Note describes the changes that cannot be undone, "" if all can.
func (r *Report) Note() string {
	var parts []string
	if len(r.Ignored) > 0 {
		var dirs []string
		for _, dir := range slices.Sorted(maps.Keys(r.Ignored)) {
			dirs = append(dirs, fmt.Sprintf("%s (%d changes)", dir, r.Ignored[dir]))
		}
		parts = append(parts, "by rule, "+some(dirs))
	}
	if r.Beyond > 0 {
		parts = append(parts, fmt.Sprintf("%d paths beyond the first %d of the call", r.Beyond, MaxPaths))
	}
	if len(r.Lost) > 0 {
		files := make(map[string][]string) // by reason
		for _, file := range slices.Sorted(maps.Keys(r.Lost)) {
			files[r.Lost[file]] = append(files[r.Lost[file]], file)
		}
		var lost []string
		for _, why := range slices.Sorted(maps.Keys(files)) {
			lost = append(lost, change.Names(files[why])+" ("+why+")")
		}
		parts = append(parts, some(lost))
	}
	parts = append(parts, r.Missed...)
	if r.Err != nil {
		parts = append(parts, r.Err.Error())
	}
	if len(parts) == 0 {
		return ""
	}
	return "Not kept for undo: " + strings.Join(parts, "; ") + "."
}

// Undoable reports whether undo can restore anything of it.
func (r *Report) Undoable() bool {
	return slices.ContainsFunc(r.Files, func(file string) bool { return r.Lost[file] == "" })
}

func some(texts []string) string {
	if more := len(texts) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:mostNamed], ", "), more)
	}
	return strings.Join(texts, ", ")
}

// Detach returns a Call that records changes after the end of c, as by a background task; nil if nothing is
// recorded.
func (c *Call) Detach() *Call {
	if c == nil || c.store.Dir() == "" {
		return nil
	}
	return New(c.store, c.own, c.trees)
}
