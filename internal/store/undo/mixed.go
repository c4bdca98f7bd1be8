package undo

import (
	"cmp"
	"slices"
	"strings"
)

// mix finds the changes during which another call changed the path: the state before that is recorded by
// neither.
func mix(lines []*line) {
	byPath := make(map[pathName][]*line)
	for _, l := range lines {
		if l.isChange() {
			byPath[l.Path] = append(byPath[l.Path], l)
			if l.To != "" {
				byPath[l.To] = append(byPath[l.To], l)
			}
		}
	}
	for _, l := range lines {
		if l.ended == "" {
			continue
		}
		for _, other := range byPath[l.Path] {
			if other.ref() != l.ref() && l.overlaps(other) {
				l.mixed = append(l.mixed, other)
			}
		}
	}
}

// overlaps reports whether the other change began before the end of this one, and ended after its beginning. A
// single-line change has both at once; an unended one continues.
func (l *line) overlaps(other *line) bool {
	end := max(other.ended, other.ID)
	return other.ID < l.ended && (other.unended || end > l.ID)
}

// unsure explains why the change that made a path's state is unknown, "" if it is known.
func (p *planner) unsure(l *line) string {
	if l.unended {
		return "may have changed since: its call was cut off, or goes on"
	}
	for _, other := range l.mixed {
		_, undone := p.history.undoneBy[other.ID]
		took := slices.Contains(p.history.undoes[other.ref()], strings.TrimSuffix(l.ID, created)) // to the state before it
		if !p.picked[other] && !took && !(other.unended && undone) {
			return "was changed by the call " + other.Call + " at the same time"
		}
	}
	return ""
}

// lastOfMixed returns the one among the line and its overlapping ones whose call ended last.
func (l *line) lastOfMixed() *line {
	return slices.MaxFunc(append([]*line{l}, l.mixed...), func(a, b *line) int {
		return cmp.Compare(max(a.ended, a.ID), max(b.ended, b.ID))
	})
}

// pass notes a change as undone, for those that it is mixed with.
func (p *planner) pass(l *line) {
	for _, other := range l.mixed {
		if p.passed[other] == "" || l.ID < p.passed[other] {
			p.passed[other] = l.ID
		}
	}
}
