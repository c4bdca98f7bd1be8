package effects

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/keep/undo"
)

// mostNamed is how many paths and directories a note names of each kind.
const mostNamed = 5

// Note says what of a call's changes cannot be undone, "" when all can.
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
		var files []string
		for _, file := range slices.Sorted(maps.Keys(r.Lost)) {
			files = append(files, file+" ("+r.Lost[file]+")")
		}
		parts = append(parts, some(files))
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

func some(texts []string) string {
	if more := len(texts) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(texts[:mostNamed], ", "), more)
	}
	return strings.Join(texts, ", ")
}

// Order is a Call for another process.
type Order struct {
	Store string    `json:"store"`
	Call  undo.Call `json:"call"`
	Trees Trees     `json:"trees"`
}

// Order gives the call to a process that outlives it; nil where nothing is kept.
func (c *Call) Order() *Order {
	if c == nil || c.store.Dir() == "" {
		return nil
	}
	return &Order{Store: c.store.Dir(), Call: c.own, Trees: c.trees}
}

// Open takes an order. It gives nil for none.
func (o *Order) Open() *Call {
	if o == nil {
		return nil
	}
	store, err := undo.Open(o.Store, undo.Options{})
	if err != nil {
		return nil
	}
	return New(store, o.Call, o.Trees)
}
