package analysis

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

type overview struct {
	Name        string     `json:"name"`
	Files       int        `json:"files"`
	Directories int        `json:"directories"`
	Tests       int        `json:"test_files"`
	Vendored    int        `json:"vendored_files"`
	Generated   int        `json:"generated_files"`
	Totals      Counts     `json:"totals"`
	Languages   []Language `json:"languages"`
	Manifests   []Manifest `json:"manifests"`
	EntryPoints []string   `json:"entry_points"`
	Layout      []area     `json:"layout"`
	Components  int        `json:"components"`
	Edges       int        `json:"internal_dependencies"`
	External    int        `json:"external_dependencies"`
	Cycles      int        `json:"cycles"`
	Warnings    []string   `json:"warnings"`
}

type area struct {
	Path     string `json:"path"`
	Files    int    `json:"files"`
	Code     int64  `json:"code"`
	Language string `json:"language,omitempty"`
}

func (p *Project) overview() *overview {
	o := &overview{
		Name: p.Name, Files: len(p.Files), Directories: p.Directories, Totals: p.totals(), Languages: p.languages(),
		Manifests: first(p.Manifests, maxJSONRows), EntryPoints: p.entryPoints(), Layout: p.layout(),
		Components: len(p.Graph.Nodes), Edges: len(p.Graph.Edges), External: len(p.Graph.External),
		Cycles:   len(p.Graph.Cycles),
		Warnings: append([]string{}, p.Warnings...),
	}
	if o.Manifests == nil {
		o.Manifests = []Manifest{}
	}
	for i := range p.Files {
		f := &p.Files[i]
		switch {
		case f.Vendored:
			o.Vendored++
		case f.Generated:
			o.Generated++
		case f.Test && f.programming():
			o.Tests++
		}
	}
	return o
}

func (p *Project) entryPoints() []string {
	entries := []string{}
	for i := range p.Files {
		f := &p.Files[i]
		if f.source.main && f.inGraph() {
			entries = append(entries, f.component())
		}
	}
	for _, m := range p.Manifests {
		entries = append(entries, m.entries...)
	}
	slices.Sort(entries)
	return first(slices.Compact(entries), maxJSONRows)
}

// layout sums up the top directories, by path. Files beside them are the area ".".
func (p *Project) layout() []area {
	areas := make(map[string]*area)
	code := make(map[string]map[string]int64)
	for i := range p.Files {
		f := &p.Files[i]
		name, _, below := strings.Cut(f.Path, "/")
		if !below {
			name = "."
		}
		a := areas[name]
		if a == nil {
			a = &area{Path: name}
			areas[name], code[name] = a, make(map[string]int64)
		}
		a.Files++
		a.Code += f.Code
		if f.written() {
			code[name][f.Language] += f.Code
		}
	}
	list := make([]area, 0, len(areas))
	for _, name := range names(areas) {
		a := areas[name]
		for _, language := range names(code[name]) {
			if n := code[name][language]; n > 0 && (a.Language == "" || n > code[name][a.Language]) {
				a.Language = language
			}
		}
		list = append(list, *a)
	}
	return first(list, maxJSONRows)
}

func (o *overview) text(w *page) {
	w.title("%s: %s in %s, %s", o.Name, plural(o.Files, "file", "files"),
		plural(o.Directories, "directory", "directories"), plural(o.Totals.Code, "line of code", "lines of code"))
	w.line("Tests: %s. Of others, or test data: %d. Generated: %d.", plural(o.Tests, "file", "files"), o.Vendored,
		o.Generated)
	w.title("Languages")
	for _, l := range first(o.Languages, maxListed) {
		share := fmt.Sprintf("%5.1f%%", l.Percent)
		if l.Type == "data" || l.Type == "prose" {
			share = " " + l.Type
		}
		w.line("  %-6s  %s: %s, %s", share, l.Name, plural(l.Code, "line", "lines"), plural(l.Files, "file", "files"))
	}
	w.rest(len(o.Languages), maxListed)
	o.textManifests(w)
	w.title("Layout")
	for _, a := range first(o.Layout, maxListed) {
		name := a.Path + "/"
		if a.Path == "." {
			name = "(top)"
		}
		w.line("  %s  %s, %s%s", name, plural(a.Files, "file", "files"),
			plural(a.Code, "line of code", "lines of code"),
			mostly(a.Language))
	}
	w.rest(len(o.Layout), maxListed)
	if len(o.EntryPoints) > 0 {
		w.title("Entry points")
		for _, e := range first(o.EntryPoints, maxListed) {
			w.line("  %s", e)
		}
		w.rest(len(o.EntryPoints), maxListed)
	}
	w.title("Imports: %s, %s between them, %s, %s", plural(o.Components, "component", "components"),
		plural(o.Edges, "dependency", "dependencies"),
		plural(o.External, "external package", "external packages"), plural(o.Cycles, "cycle", "cycles"))
	for _, warning := range o.Warnings {
		w.line("Note: %s.", warning)
	}
}

func (o *overview) textManifests(w *page) {
	if len(o.Manifests) == 0 {
		return
	}
	w.title("Manifests")
	for _, m := range first(o.Manifests, maxListed) {
		name := m.Name
		if name != "" {
			name = " " + name
		}
		if m.Error != "" {
			w.line("  %s: %s%s, not understood: %s", m.Path, m.Kind, name, m.Error)
			continue
		}
		w.line("  %s: %s%s, %s", m.Path, m.Kind, name, plural(len(m.Dependencies), "dependency", "dependencies"))
	}
	w.rest(len(o.Manifests), maxListed)
}

func mostly(language string) string {
	if language == "" {
		return ""
	}
	return ", mostly " + language
}

func (o *overview) mermaid() string {
	d := newDiagram("graph TD")
	root := d.box("", o.Name+"<br/>"+plural(o.Totals.Code, "line of code", "lines of code"))
	for _, a := range first(o.Layout, maxDiagram) {
		label := path.Base(a.Path)
		if a.Path == "." {
			label = "(top)"
		}
		d.arrow(root, d.box(a.Path, label+"<br/>"+plural(a.Files, "file", "files")+mostly(a.Language)), 0)
	}
	d.leftOut(len(o.Layout)-maxDiagram, "directories")
	return d.String()
}
