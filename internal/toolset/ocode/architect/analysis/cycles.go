package analysis

import (
	"slices"
	"strings"
)

// Cycle is a group of components that all depend on each other, directly or indirectly.
type Cycle struct {
	// Path is a shortest cycle through the group's first component, at both ends.
	Path []string `json:"path"`
	// Members counts the group's components.
	Members int `json:"members"`
}

// String returns "a -> b -> a".
func (c Cycle) String() string {
	return strings.Join(append(slices.Clone(c.Path), c.Path[0]), " -> ")
}

// cycles finds the strongly connected components, in order of their first member.
func cycles(g Graph) []Cycle {
	t := &tarjan{next: make(map[string][]string), index: make(map[string]int), low: make(map[string]int),
		open: make(map[string]bool)}
	for _, e := range g.Edges {
		t.next[e.From] = append(t.next[e.From], e.To)
	}
	for _, n := range g.Nodes {
		if t.index[n.ID] == 0 {
			t.visit(n.ID)
		}
	}
	var all []Cycle
	for _, group := range t.groups {
		slices.Sort(group)
		all = append(all, Cycle{Path: shortestCycle(t.next, group), Members: len(group)})
	}
	slices.SortFunc(all, func(a, b Cycle) int { return strings.Compare(a.Path[0], b.Path[0]) })
	return all
}

// tarjan is Tarjan's algorithm for strongly connected components.
type tarjan struct {
	next       map[string][]string
	index, low map[string]int
	open       map[string]bool
	stack      []string
	groups     [][]string
}

func (t *tarjan) visit(id string) {
	t.index[id] = len(t.index) + 1
	t.low[id] = t.index[id]
	t.stack = append(t.stack, id)
	t.open[id] = true
	for _, to := range t.next[id] {
		switch {
		case t.index[to] == 0:
			t.visit(to)
			t.low[id] = min(t.low[id], t.low[to])
		case t.open[to]:
			t.low[id] = min(t.low[id], t.index[to])
		}
	}
	if t.low[id] != t.index[id] {
		return
	}
	at := slices.Index(t.stack, id)
	group := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, member := range group {
		t.open[member] = false
	}
	if len(group) > 1 {
		t.groups = append(t.groups, group)
	}
}

// shortestCycle searches breadth first from a group's first member back to it.
func shortestCycle(next map[string][]string, group []string) []string {
	start := group[0]
	inside := make(map[string]bool, len(group))
	for _, member := range group {
		inside[member] = true
	}
	before := map[string]string{}
	queue := []string{start}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, to := range next[at] {
			if to == start {
				return wayTo(before, start, at)
			}
			if _, seen := before[to]; !seen && inside[to] {
				before[to] = at
				queue = append(queue, to)
			}
		}
	}
	return group
}

func wayTo(before map[string]string, start, end string) []string {
	way := []string{end}
	for end != start {
		end = before[end]
		way = append(way, end)
	}
	slices.Reverse(way)
	return way
}
