// Package analysis reads a source tree and describes its architecture: languages and their sizes,
// directories, imports and their cycles. Only the program toolhost-architect imports it, since the
// tables of go-enry and scc take 20 ms to set up.
package analysis

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/go-enry/go-enry/v2"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/ocode/architect"
)

const (
	// MaxFiles limits the analyzed files; the report says if there are more.
	MaxFiles = 200_000
	// MaxFileSize limits files that are read, in bytes.
	MaxFileSize = 4 << 20
)

// Project is an analyzed source tree.
type Project struct {
	// Name is the directory's name.
	Name string
	// Root is the directory's slash path relative to the workspace.
	Root string
	// Files are sorted by path.
	Files []File
	// Directories counts those with a file, including the root.
	Directories int
	Manifests   []Manifest
	Graph       Graph
	// Warnings say what was left out.
	Warnings []string
}

// File is a file of the tree.
type File struct {
	// Path is a slash path relative to the project's root.
	Path     string `json:"path"`
	Language string `json:"language,omitempty"`
	Size     int64  `json:"bytes"`
	Counts
	Test bool `json:"-"`
	// Vendored is set for third-party code and test data.
	Vendored  bool `json:"-"`
	Generated bool `json:"-"`

	kind   enry.Type // of the language
	source source
}

// Counts are the sizes of a text.
type Counts struct {
	Lines      int64 `json:"lines"`
	Code       int64 `json:"code"`
	Comments   int64 `json:"comments"`
	Blanks     int64 `json:"blanks"`
	Complexity int64 `json:"complexity"`
}

// programming reports whether the file is code, not data, markup or prose.
func (f *File) programming() bool { return f.kind == enry.Programming }

// written reports whether the file counts for shares of languages: data and prose do not.
func (f *File) written() bool { return f.kind == enry.Programming || f.kind == enry.Markup }

func (c *Counts) add(o Counts) {
	c.Lines += o.Lines
	c.Code += o.Code
	c.Comments += o.Comments
	c.Blanks += o.Blanks
	c.Complexity += o.Complexity
}

// Read analyzes the directory dir of ws. Errors are those of Workspace.Walk.
func Read(ctx context.Context, ws *workspace.Workspace, dir string) (*Project, error) {
	root, err := ws.Rel(dir)
	if err != nil {
		return nil, err
	}
	p := &Project{Name: path.Base(root), Root: root}
	if root == "." {
		p.Name = path.Base(strings.ReplaceAll(ws.Root(), `\`, "/"))
	}
	if err := p.scan(ctx, ws); err != nil {
		return nil, err
	}
	p.Graph = newGraph(p)
	return p, nil
}

// Summary returns the main figures.
func (p *Project) Summary() architect.Summary {
	total := p.totals()
	s := architect.Summary{
		Files: len(p.Files), Directories: p.Directories, Lines: total.Lines, Code: total.Code, Languages: []string{},
		Components: len(p.Graph.Nodes), Dependencies: len(p.Graph.Edges), Cycles: len(p.Graph.Cycles),
	}
	for _, l := range p.languages() {
		s.Languages = append(s.Languages, l.Name)
	}
	return s
}

func (p *Project) totals() Counts {
	var total Counts
	for i := range p.Files {
		total.add(p.Files[i].Counts)
	}
	return total
}

// Language is one language's share of a tree.
type Language struct {
	Name string `json:"name"`
	// Type is "programming", "markup", "data" or "prose".
	Type  string `json:"type"`
	Files int    `json:"files"`
	Counts
	// Percent is the share of all lines of programming and markup languages, rounded to a
	// tenth; 0 for data and prose.
	Percent float64 `json:"percent"`
}

// languages returns those of the project's own files, neither vendored nor generated, most code
// first.
func (p *Project) languages() []Language {
	byName := make(map[string]*Language)
	var code int64
	for i := range p.Files {
		f := &p.Files[i]
		if f.Language == "" || f.Vendored || f.Generated {
			continue
		}
		l := byName[f.Language]
		if l == nil {
			l = &Language{Name: f.Language, Type: typeName(f.kind)}
			byName[f.Language] = l
		}
		l.Files++
		l.add(f.Counts)
		if f.written() {
			code += f.Code
		}
	}
	all := make([]Language, 0, len(byName))
	for _, l := range byName {
		if l.Type == typeName(enry.Programming) || l.Type == typeName(enry.Markup) {
			l.Percent = percent(l.Code, code)
		}
		all = append(all, *l)
	}
	slices.SortFunc(all, func(a, b Language) int {
		return cmp.Or(cmp.Compare(b.Percent, a.Percent), cmp.Compare(b.Code, a.Code), strings.Compare(a.Name, b.Name))
	})
	return all
}

func typeName(t enry.Type) string {
	switch t {
	case enry.Programming:
		return "programming"
	case enry.Markup:
		return "markup"
	case enry.Data:
		return "data"
	}
	return "prose"
}

// percent returns part of whole, rounded to a tenth.
func percent(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64((part*2000/whole+1)/2) / 10
}
