package analysis

import (
	"strings"

	"github.com/toolhost/toolhost/internal/matching"
)

var (
	javaPackage = matching.Lazy(`(?:^|[;\n\s])package\s+([\w.]+)\s*;`)
	javaImport  = matching.Lazy(`(?:^|[;\n\s])import\s+(static\s+)?([\w.]+(?:\.\*)?)\s*;`)
	javaMain    = matching.Lazy(`\bstatic\s+void\s+main\s*\(`)
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

// javaPackageOf cuts the class off the name that an import declaration has,
// and the member too when it is static. Packages are in lower case by
// convention, so the first segment in upper case is the class.
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
