package analysis

import (
	"slices"
	"strings"
)

// javaResolver resolves by the package declarations.
type javaResolver struct{ dirs map[string][]string }

func newJavaResolver(b *graphBuilder) *javaResolver {
	r := &javaResolver{dirs: make(map[string][]string)}
	for _, f := range b.files {
		if f.source.family == javaFamily && f.source.unit != "" &&
			!slices.Contains(r.dirs[f.source.unit], f.component()) {
			r.dirs[f.source.unit] = append(r.dirs[f.source.unit], f.component())
		}
	}
	return r
}

func (r *javaResolver) resolve(f *File, i imported) ([]string, string) {
	if dirs := r.dirs[i.name]; len(dirs) > 0 {
		return dirs, ""
	}
	segments := strings.Split(i.name, ".")
	if first := segments[0]; first == "" || first == "java" || first == "javax" || first == "jdk" {
		return nil, ""
	}
	return nil, strings.Join(segments[:min(3, len(segments))], ".")
}
