package analysis

import (
	"regexp"
	"strings"
	"sync"
)

// scriptImport finds the forms in which JavaScript and TypeScript name
// another module: import and export declarations, require and import().
var scriptImport = sync.OnceValue(func() *regexp.Regexp {
	const name = `("[^"\n]*"|'[^'\n]*')`
	return regexp.MustCompile(`(?:^|[;}\n\s])(?:import|export)\b[^;"'()=]*?\bfrom\s*` + name +
		`|(?:^|[;}\n])\s*import\s*` + name +
		`|\b(?:require|import)\s*\(\s*` + name + `\s*[,)]`)
})

func readScript(s *source, data []byte) {
	s.main = strings.HasPrefix(string(data[:min(2, len(data))]), "#!")
	for _, match := range scriptImport().FindAllStringSubmatch(scriptSyntax.uncomment(data), -1) {
		for _, quoted := range match[1:] {
			s.add(strings.Trim(quoted, `"'`))
		}
	}
}
