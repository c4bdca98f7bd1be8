package analysis

import (
	"cmp"
	"slices"
	"strings"
)

type dependencies struct {
	Name  string `json:"name"`
	Depth int    `json:"depth"`
	// Components are the packages and files, joined below Depth.
	Components []component `json:"components"`
	Edges      []Edge      `json:"edges"`
	External   []External  `json:"external"`
	// Declared are the manifests' dependencies.
	Declared []declared `json:"declared"`
	// Cycles are those of the packages and files themselves.
	Cycles []Cycle `json:"cycles"`
	// Omitted counts rows left out of the lists.
	Omitted omitted `json:"omitted"`
}

type component struct {
	Path     string `json:"path"`
	Language string `json:"language"`
	Files    int    `json:"files"`
	Code     int64  `json:"code"`
	// Imports and ImportedBy count other components.
	Imports    int `json:"imports"`
	ImportedBy int `json:"imported_by"`
}

type declared struct {
	Manifest     string   `json:"manifest"`
	Dependencies []string `json:"dependencies"`
}

type omitted struct {
	Components int `json:"components"`
	Edges      int `json:"edges"`
	External   int `json:"external"`
	Cycles     int `json:"cycles"`
}

func (p *Project) dependencies(depth int) *dependencies {
	g := p.Graph.collapse(depth)
	d := &dependencies{
		Name: p.Name, Depth: depth, Components: components(g), Edges: orEmpty(g.Edges), External: orEmpty(g.External),
		Cycles:   orEmpty(g.Cycles),
		Declared: []declared{},
	}
	for _, m := range p.Manifests {
		d.Declared = append(d.Declared, declared{m.Path, m.Dependencies})
	}
	d.Components, d.Omitted.Components = cut(d.Components)
	d.Edges, d.Omitted.Edges = cut(d.Edges)
	d.External, d.Omitted.External = cut(d.External)
	d.Cycles, d.Omitted.Cycles = cut(d.Cycles)
	d.Declared, _ = cut(d.Declared)
	return d
}

func components(g Graph) []component {
	byID := make(map[string]*component, len(g.Nodes))
	list := make([]component, len(g.Nodes))
	for i, n := range g.Nodes {
		list[i] = component{Path: n.ID, Language: n.Language, Files: n.Files, Code: n.Code}
		byID[n.ID] = &list[i]
	}
	for _, e := range g.Edges {
		byID[e.From].Imports++
		byID[e.To].ImportedBy++
	}
	return list
}

func cut[T any](list []T) ([]T, int) {
	return first(list, maxJSONRows), max(0, len(list)-maxJSONRows)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (d *dependencies) text(w *page) {
	total := len(d.Components) + d.Omitted.Components
	w.title("%s: %s, %s", d.Name, plural(total, "component", "components"),
		plural(len(d.Edges)+d.Omitted.Edges, "dependency", "dependencies"))
	if total == 0 {
		w.line("No file of a language whose imports are understood (Go, Python, JavaScript, TypeScript, Java, Rust) was found.")
		return
	}
	d.textCycles(w)
	d.textMost(w)
	w.title("Imports")
	to := make(map[string][]string)
	for _, e := range d.Edges {
		to[e.From] = append(to[e.From], e.To)
	}
	importers := names(to)
	for _, from := range first(importers, maxTree) {
		w.line("  %s -> %s", from, strings.Join(to[from], ", "))
	}
	w.rest(len(importers), maxTree)
	if len(d.External) > 0 {
		w.title("External packages, by how many components use them")
		for _, e := range first(d.External, maxListed) {
			w.line("  %4d  %s (%s)", e.Users, e.Name, e.Language)
		}
		w.rest(len(d.External)+d.Omitted.External, maxListed)
	}
}

func (d *dependencies) textCycles(w *page) {
	if len(d.Cycles) == 0 {
		w.line("There are no cycles.")
		return
	}
	w.title("Cycles")
	for _, c := range first(d.Cycles, maxListed) {
		w.line("  %s", c)
		if c.Members > len(c.Path) {
			w.line("      (one way round a group of %d)", c.Members)
		}
	}
	w.rest(len(d.Cycles)+d.Omitted.Cycles, maxListed)
}

func (d *dependencies) textMost(w *page) {
	most := slices.Clone(d.Components)
	slices.SortStableFunc(most, func(a, b component) int { return cmp.Compare(b.ImportedBy, a.ImportedBy) })
	w.title("Most imported")
	for _, c := range first(most, 10) {
		if c.ImportedBy > 0 {
			w.line("  %4d  %s", c.ImportedBy, c.Path)
		}
	}
}

func (d *dependencies) mermaid() string {
	out := newDiagram("graph LR")
	busiest := slices.Clone(d.Components)
	slices.SortStableFunc(busiest,
		func(a, b component) int { return cmp.Compare(b.Imports+b.ImportedBy, a.Imports+a.ImportedBy) })
	shown := make(map[string]bool)
	for _, c := range first(busiest, maxDiagram) {
		shown[c.Path] = true
	}
	ids := make(map[string]string)
	for _, c := range d.Components {
		if shown[c.Path] {
			ids[c.Path] = out.box(c.Path, c.Path)
		}
	}
	arrows := 0
	for _, e := range d.Edges {
		if shown[e.From] && shown[e.To] && arrows < maxArrows {
			arrows++
			out.arrow(ids[e.From], ids[e.To], e.Imports)
		}
	}
	d.markCycles(out, ids)
	out.leftOut(len(d.Components)+d.Omitted.Components-len(shown), "components")
	out.leftOut(len(d.Edges)+d.Omitted.Edges-arrows, "dependencies")
	return out.String()
}

func (d *dependencies) markCycles(out *diagram, ids map[string]string) {
	marked := make(map[string]bool)
	for _, c := range d.Cycles {
		for _, member := range c.Path {
			if id := ids[upTo(member, d.Depth)]; id != "" && !marked[id] {
				marked[id] = true
				out.marks = append(out.marks, id)
			}
		}
	}
}
