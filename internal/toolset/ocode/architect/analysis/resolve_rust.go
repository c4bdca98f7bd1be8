package analysis

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// rustResolver resolves module paths, each a file, within the crates of the tree.
type rustResolver struct {
	files  map[string]*File
	crates []Manifest // deepest first
}

func newRustResolver(p *Project, b *graphBuilder) *rustResolver {
	r := &rustResolver{files: b.files}
	for _, m := range p.Manifests {
		if m.family == rustFamily && m.Name != "" {
			r.crates = append(r.crates, m)
		}
	}
	slices.SortStableFunc(r.crates, func(x, y Manifest) int { return cmp.Compare(len(y.Path), len(x.Path)) })
	return r
}

func (r *rustResolver) resolve(f *File, i imported) ([]string, string) {
	segments := strings.Split(i.name, "::")
	source := r.sourceDir(f.Path)
	switch first := segments[0]; first {
	case "std", "core", "alloc", "proc_macro", "test", "":
		return nil, ""
	case "crate":
		return r.module(source, segments[1:]), ""
	case "self", "super":
		return r.relative(source, f.Path, segments), ""
	default:
		if found := r.child(moduleDir(f.Path), segments); found != "" {
			return []string{found}, ""
		}
		for _, crate := range r.crates {
			if strings.ReplaceAll(crate.Name, "-", "_") == first {
				return r.module(path.Join(crate.dir(), "src"), segments[1:]), ""
			}
		}
		if first[0] >= 'A' && first[0] <= 'Z' {
			return nil, "" // an enum of this file
		}
		return nil, first
	}
}

func (r *rustResolver) sourceDir(name string) string {
	for _, crate := range r.crates {
		src := path.Join(crate.dir(), "src")
		if _, ok := cutPathPrefix(name, src); ok {
			return src
		}
	}
	return path.Dir(name)
}

// moduleDir returns the directory of the submodules of a file.
func moduleDir(name string) string {
	switch base := path.Base(name); base {
	case "mod.rs", "lib.rs", "main.rs":
		return path.Dir(name)
	default:
		return path.Join(path.Dir(name), strings.TrimSuffix(base, ".rs"))
	}
}

// relative resolves paths that start with self or super.
func (r *rustResolver) relative(source, name string, segments []string) []string {
	dir := moduleDir(name)
	for len(segments) > 0 && (segments[0] == "self" || segments[0] == "super") {
		if segments[0] == "super" {
			dir = path.Dir(dir)
		}
		segments = segments[1:]
	}
	if found := r.child(dir, segments); found != "" {
		return []string{found}
	}
	if dir == moduleDir(name) {
		return nil // an item of this file
	}
	if dir == source {
		return r.module(source, nil)
	}
	for _, candidate := range []string{dir + ".rs", path.Join(dir, "mod.rs")} {
		if r.has(candidate) {
			return []string{candidate}
		}
	}
	return nil
}

// module resolves a path from a crate's root. An item outside any module belongs to the root's
// file.
func (r *rustResolver) module(source string, segments []string) []string {
	if found := r.child(source, segments); found != "" {
		return []string{found}
	}
	for _, root := range []string{"lib.rs", "main.rs"} {
		if r.has(path.Join(source, root)) {
			return []string{path.Join(source, root)}
		}
	}
	return nil
}

// child returns the file of the longest part of a path that is a module below dir.
func (r *rustResolver) child(dir string, segments []string) string {
	for n := len(segments); n > 0; n-- {
		name := path.Join(append([]string{dir}, segments[:n]...)...)
		for _, candidate := range []string{name + ".rs", path.Join(name, "mod.rs")} {
			if r.has(candidate) {
				return candidate
			}
		}
	}
	return ""
}

func (r *rustResolver) has(name string) bool {
	f := r.files[name]
	return f != nil && f.source.family == rustFamily
}

var (
	rustUse    = regexlimit.Lazy(`(?:^|[;{}\n\s])use\s+([^;]+);`)
	rustExtern = regexlimit.Lazy(`(?:^|[;{}\n\s])extern\s+crate\s+(\w+)`)
	rustMain   = regexlimit.Lazy(`(?m)^\s*(?:pub\s+)?(?:async\s+)?fn\s+main\s*\(`)
)

const maxRustUses = 1000

func readRust(s *source, name string, data []byte) {
	code := rustSyntax.uncomment(data)
	s.main = rustMain().MatchString(code) &&
		(path.Base(name) == "main.rs" || path.Base(path.Dir(name)) == "bin" || path.Base(path.Dir(name)) == "examples")
	for _, match := range rustUse().FindAllStringSubmatch(code, -1) {
		left := maxRustUses
		for _, use := range expandRust("", match[1], &left) {
			s.add(use)
		}
	}
	for _, match := range rustExtern().FindAllStringSubmatch(code, -1) {
		s.add(match[1])
	}
}

// expandRust expands the braces of a use declaration: "a::{b, c::d}" is a::b and a::c::d.
func expandRust(prefix, tree string, left *int) []string {
	tree = strings.TrimSpace(tree)
	if *left--; *left < 0 {
		return nil
	}
	open := strings.IndexByte(tree, '{')
	if open < 0 {
		return []string{cleanRust(prefix + tree)}
	}
	prefix += strings.Join(strings.Fields(tree[:open]), "")
	inner := tree[open+1:]
	if end := strings.LastIndexByte(inner, '}'); end >= 0 {
		inner = inner[:end]
	}
	var all []string
	for _, part := range splitTop(inner) {
		if strings.TrimSpace(part) != "" {
			all = append(all, expandRust(prefix, part, left)...)
		}
	}
	return all
}

// cleanRust drops "as NAME", a leading "::" and a trailing "self" or "*".
func cleanRust(use string) string {
	use = firstWord(use)
	use = strings.TrimPrefix(use, "::")
	use = strings.TrimPrefix(use, "r#")
	for _, end := range []string{"::self", "::*"} {
		use = strings.TrimSuffix(use, end)
	}
	return strings.TrimSuffix(use, "::")
}

func splitTop(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		}
	}
	return append(parts, s[from:])
}
