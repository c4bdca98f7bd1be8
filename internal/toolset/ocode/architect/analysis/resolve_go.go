package analysis

import (
	"cmp"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

type goResolver struct {
	modules  []Manifest // longest name first
	packages map[string]bool
}

func newGoResolver(p *Project, b *graphBuilder) *goResolver {
	r := &goResolver{packages: make(map[string]bool)}
	for _, m := range p.Manifests {
		if m.family == goFamily && m.Name != "" {
			r.modules = append(r.modules, m)
		}
	}
	slices.SortStableFunc(r.modules, func(x, y Manifest) int { return cmp.Compare(len(y.Name), len(x.Name)) })
	for _, f := range b.files {
		if f.source.family == goFamily {
			r.packages[f.component()] = true
		}
	}
	return r
}

func (r *goResolver) resolve(f *File, i imported) ([]string, string) {
	for _, m := range r.modules {
		if rest, ok := cutPathPrefix(i.name, m.Name); ok {
			if dir := path.Join(m.dir(), rest); r.packages[dir] {
				return []string{dir}, ""
			}
		}
	}
	if first, _, _ := strings.Cut(i.name, "/"); !strings.Contains(first, ".") {
		return nil, ""
	}
	return nil, r.module(i.name)
}

// module returns the longest required module that an import path belongs to.
func (r *goResolver) module(name string) string {
	best := ""
	for _, m := range r.modules {
		for _, required := range m.Dependencies {
			if _, ok := cutPathPrefix(name, required); ok && len(required) > len(best) {
				best = required
			}
		}
	}
	if best == "" {
		return name
	}
	return best
}

func cutPathPrefix(name, prefix string) (rest string, ok bool) {
	if name == prefix {
		return "", true
	}
	return strings.CutPrefix(name, prefix+"/")
}

// readGo uses go/parser, which stops after the imports.
func readGo(s *source, data []byte) {
	file, _ := parser.ParseFile(token.NewFileSet(), "", data, parser.ImportsOnly)
	if file == nil {
		return
	}
	s.main = file.Name != nil && file.Name.Name == "main"
	for _, spec := range file.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			s.add(name)
		}
	}
}
