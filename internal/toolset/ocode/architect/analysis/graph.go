package analysis

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Graph has the imports of a project, without tests, vendored files, and generated files except
// Go's, which say little about its structure.
type Graph struct {
	// Nodes are the components, sorted by ID.
	Nodes []Node
	// Edges are sorted by From, then To, without duplicates.
	Edges []Edge
	// External are packages outside the project and the standard library, most used first.
	External []External
	// Cycles are groups of components that depend on each other.
	Cycles []Cycle
}

// Node is a component: a package in Go and Java, else a file.
type Node struct {
	// ID is a slash path relative to the project's root.
	ID       string
	Language string
	Files    int
	Code     int64
}

// Edge is an import of To by From.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Imports counts the files of From that import To.
	Imports int `json:"imports"`
}

// External is a package outside the project.
type External struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	// Users counts the components that import it.
	Users int `json:"users"`
}

// graphBuilder collects nodes and edges while files are resolved.
type graphBuilder struct {
	files    map[string]*File
	nodes    map[string]*Node
	edges    map[[2]string]int
	external map[[2]string]map[string]bool // language, name: users
}

func newGraph(p *Project) Graph {
	b := &graphBuilder{
		files: make(map[string]*File, len(p.Files)), nodes: make(map[string]*Node),
		edges: make(map[[2]string]int), external: make(map[[2]string]map[string]bool),
	}
	var own []*File
	for i := range p.Files {
		f := &p.Files[i]
		if !f.inGraph() {
			continue
		}
		b.files[f.Path] = f
		own = append(own, f)
		b.addNode(f)
	}
	resolvers := map[family]resolver{
		goFamily:     newGoResolver(p, b),
		pythonFamily: newPythonResolver(b),
		scriptFamily: newScriptResolver(p, b),
		javaFamily:   newJavaResolver(b),
		rustFamily:   newRustResolver(p, b),
	}
	for _, f := range own {
		b.connect(f, resolvers[f.source.family])
	}
	return b.graph()
}

// inGraph reports whether a file is part of the graph.
func (f *File) inGraph() bool {
	if f.source.family == noFamily || f.Test || f.Vendored || strings.Contains("/"+f.Path, "/testdata/") {
		return false
	}
	return !f.Generated || f.source.family == goFamily
}

func (f *File) component() string {
	if f.source.family == goFamily || f.source.family == javaFamily {
		return path.Dir(f.Path)
	}
	return f.Path
}

func (b *graphBuilder) addNode(f *File) {
	id := f.component()
	n := b.nodes[id]
	if n == nil {
		n = &Node{ID: id, Language: f.source.family.String()}
		b.nodes[id] = n
	}
	n.Files++
	n.Code += f.Code
}

type resolver interface {
	// resolve returns the components that an import of f means, or the name of the external
	// package; neither for the standard library and unknown imports.
	resolve(f *File, i imported) (components []string, external string)
}

func (b *graphBuilder) connect(f *File, r resolver) {
	from := f.component()
	seen := make(map[string]bool)
	for _, i := range f.source.imports {
		components, external := r.resolve(f, i)
		for _, to := range components {
			if to != from && !seen[to] {
				seen[to] = true
				b.edges[[2]string{from, to}]++
			}
		}
		if external != "" {
			key := [2]string{f.source.family.String(), external}
			if b.external[key] == nil {
				b.external[key] = make(map[string]bool)
			}
			b.external[key][from] = true
		}
	}
}

func (b *graphBuilder) graph() Graph {
	g := Graph{}
	for _, n := range b.nodes {
		g.Nodes = append(g.Nodes, *n)
	}
	slices.SortFunc(g.Nodes, func(x, y Node) int { return strings.Compare(x.ID, y.ID) })
	for ends, n := range b.edges {
		g.Edges = append(g.Edges, Edge{From: ends[0], To: ends[1], Imports: n})
	}
	sortEdges(g.Edges)
	for key, users := range b.external {
		g.External = append(g.External, External{Language: key[0], Name: key[1], Users: len(users)})
	}
	slices.SortFunc(g.External, func(x, y External) int {
		if x.Users != y.Users {
			return cmp.Compare(y.Users, x.Users)
		}
		return strings.Compare(x.Name+"\x00"+x.Language, y.Name+"\x00"+y.Language)
	})
	g.Cycles = cycles(g)
	return g
}

func sortEdges(edges []Edge) {
	slices.SortFunc(edges, func(x, y Edge) int {
		if c := strings.Compare(x.From, y.From); c != 0 {
			return c
		}
		return strings.Compare(x.To, y.To)
	})
}

// collapse joins the components below each directory at level depth.
func (g Graph) collapse(depth int) Graph {
	joined := make(map[string]*Node)
	var order []string
	for _, n := range g.Nodes {
		id := upTo(n.ID, depth)
		if joined[id] == nil {
			joined[id] = &Node{ID: id, Language: n.Language}
			order = append(order, id)
		}
		joined[id].Files += n.Files
		joined[id].Code += n.Code
		if joined[id].Language != n.Language {
			joined[id].Language = "several"
		}
	}
	imports := make(map[[2]string]int)
	for _, e := range g.Edges {
		if from, to := upTo(e.From, depth), upTo(e.To, depth); from != to {
			imports[[2]string{from, to}] += e.Imports
		}
	}
	out := Graph{External: g.External, Cycles: g.Cycles}
	slices.Sort(order)
	for _, id := range order {
		out.Nodes = append(out.Nodes, *joined[id])
	}
	for ends, n := range imports {
		out.Edges = append(out.Edges, Edge{From: ends[0], To: ends[1], Imports: n})
	}
	sortEdges(out.Edges)
	return out
}

// upTo cuts a path after depth levels.
func upTo(name string, depth int) string {
	for i := range len(name) {
		if name[i] == '/' {
			if depth--; depth == 0 {
				return name[:i]
			}
		}
	}
	return name
}
