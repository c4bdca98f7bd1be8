package analysis

import (
	"go/parser"
	"go/token"
	"strconv"
)

// readGo uses Go's own parser, which stops after the imports.
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
