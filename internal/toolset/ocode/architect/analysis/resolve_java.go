package analysis

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

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

var (
	javaPackage = regexlimit.Lazy(`(?:^|[;\n\s])package\s+([\w.]+)\s*;`)
	javaImport  = regexlimit.Lazy(`(?:^|[;\n\s])import\s+(static\s+)?([\w.]+(?:\.\*)?)\s*;`)
	javaMain    = regexlimit.Lazy(`\bstatic\s+void\s+main\s*\(`)
)

func readJava(s *source, data []byte) {
	code := cSyntax.uncomment(data)
	if match := javaPackage().FindStringSubmatch(code); match != nil {
		s.unit = match[1]
	}
	s.main = javaMain().MatchString(code)
	for _, match := range javaImport().FindAllStringSubmatch(code, -1) {
		s.add(javaPackageOf(match[2], match[1] != ""))
	}
}

// javaPackageOf removes the class, and a static import's member, from an imported name.
// Packages are lower case by convention, so the first capitalized segment is the class.
func javaPackageOf(name string, static bool) string {
	name, wildcard := strings.CutSuffix(name, ".*")
	segments := strings.Split(name, ".")
	for i, segment := range segments {
		if segment != "" && segment[0] >= 'A' && segment[0] <= 'Z' {
			return strings.Join(segments[:i], ".")
		}
	}
	drop := 0
	if !wildcard {
		drop++
	}
	if static {
		drop++
	}
	return strings.Join(segments[:max(0, len(segments)-drop)], ".")
}
