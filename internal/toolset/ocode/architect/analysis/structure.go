package analysis

import (
	"path"
	"strings"
)

type structure struct {
	Name  string     `json:"name"`
	Depth int        `json:"depth"`
	Tree  *directory `json:"tree"`
	// Omitted counts unlisted directories.
	Omitted int `json:"omitted_directories"`

	directories int
}

type directory struct {
	Name     string       `json:"name"`
	Path     string       `json:"path"`
	Files    int          `json:"files"`
	Code     int64        `json:"code"`
	Language string       `json:"language,omitempty"`
	Children []*directory `json:"children,omitempty"`
	// Deeper counts the directories below that the depth hides.
	Deeper int `json:"deeper_directories,omitempty"`

	code map[string]int64
	deep map[string]bool
}

func (p *Project) structure(depth int) *structure {
	s := &structure{Name: p.Name, Depth: depth, Tree: newDirectory(p.Name, ".")}
	known := map[string]*directory{".": s.Tree}
	for i := range p.Files {
		f := &p.Files[i]
		dir := path.Dir(f.Path)
		s.Tree.hold(f)
		if dir == "." {
			continue
		}
		at, parent := "", s.Tree
		segments := strings.Split(dir, "/")
		for level, segment := range segments {
			if level == depth {
				parent.deep[dir] = true
				break
			}
			at = path.Join(at, segment)
			child := known[at]
			if child == nil {
				if s.directories++; s.directories > maxTree {
					s.Omitted++
					known[at] = newDirectory(segment, at) // counted, not shown
					parent = known[at]
					continue
				}
				child = newDirectory(segment, at)
				known[at] = child
				parent.Children = append(parent.Children, child)
			}
			child.hold(f)
			parent = child
		}
	}
	for _, d := range known {
		d.summarize()
	}
	return s
}

func newDirectory(name, at string) *directory {
	return &directory{Name: name, Path: at, code: make(map[string]int64), deep: make(map[string]bool)}
}

func (d *directory) hold(f *File) {
	d.Files++
	d.Code += f.Code
	if f.written() {
		d.code[f.Language] += f.Code
	}
}

// summarize finds the main language once all files are counted.
func (d *directory) summarize() {
	d.Deeper = len(d.deep)
	var most int64
	for _, language := range names(d.code) {
		if n := d.code[language]; n > most {
			d.Language, most = language, n
		}
	}
}

func (s *structure) text(w *page) {
	w.line("%s/  %s", s.Tree.Name, s.Tree.sizes())
	s.Tree.branches(w, "")
	if s.Omitted > 0 {
		w.line("%s are left out; analyze a directory of the project, or a smaller depth.",
			plural(s.Omitted, "directory", "directories"))
	}
}

func (d *directory) sizes() string {
	sizes := "(" + plural(d.Files, "file", "files") + ", " + plural(d.Code, "line of code", "lines of code") +
		mostly(d.Language) + ")"
	if d.Deeper > 0 {
		sizes += " + " + plural(d.Deeper, "deeper directory", "deeper directories")
	}
	return sizes
}

func (d *directory) branches(w *page, indent string) {
	for i, child := range d.Children {
		branch, below := "├── ", "│   "
		if i == len(d.Children)-1 {
			branch, below = "└── ", "    "
		}
		w.line("%s%s%s/  %s", indent, branch, child.Name, child.sizes())
		child.branches(w, indent+below)
	}
}

func (s *structure) mermaid() string {
	d := newDiagram("graph TD")
	shown := 0
	s.Tree.draw(d, &shown)
	d.leftOut(s.directories+1-shown, "directories")
	return d.String()
}

func (d *directory) draw(diagram *diagram, shown *int) string {
	*shown++
	id := diagram.box(d.Path, d.Name+"/<br/>"+plural(d.Files, "file", "files"))
	for _, child := range d.Children {
		if *shown < maxDiagram {
			diagram.arrow(id, child.draw(diagram, shown), 0)
		}
	}
	return id
}
