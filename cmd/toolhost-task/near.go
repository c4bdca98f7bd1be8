package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/go-task/task/v3"
)

// near gives up to three names of callable commands that look like name, the
// likest first.
func (l *loaded) near(name string) []string {
	type candidate struct {
		name     string
		likeness float64
	}
	var found []candidate
	consider := func(other string) {
		likeness := levenshtein.Match(strings.ToLower(name), strings.ToLower(other), nil)
		if name != "" && strings.Contains(other, name) {
			likeness = max(likeness, 0.7)
		}
		if likeness >= 0.5 {
			found = append(found, candidate{other, likeness})
		}
	}
	for other, t := range l.executor.Taskfile.Tasks.All(nil) {
		if task.FilterOutInternal(t) {
			continue
		}
		consider(other)
		for _, alias := range t.Aliases {
			consider(alias)
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.likeness, a.likeness), strings.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range found[:min(3, len(found))] {
		names = append(names, c.name)
	}
	return names
}
