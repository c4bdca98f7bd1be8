package analysis

import (
	"encoding/json"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/toolset/ocode/architect"
)

// Limits of what a report lists. It counts the rest.
const (
	maxListed   = 40  // rows of a list
	maxTree     = 400 // directories of a tree
	maxDiagram  = 120 // boxes of a diagram
	maxArrows   = 300 // arrows of a diagram; Mermaid itself stops at 500
	maxJSONRows = 2000
)

type report interface {
	text(w *page)
	mermaid() string
}

// Report writes an analysis of p. depth is the number of directory levels told apart, at least 1.
// Errors: invalid_argument for an unknown kind or format.
func (p *Project) Report(kind architect.Kind, format architect.Format, depth int) (string, error) {
	depth = max(1, depth)
	var r report
	switch kind {
	case architect.Overview:
		r = p.overview()
	case architect.Structure:
		r = p.structure(depth)
	case architect.Dependencies:
		r = p.dependencies(depth)
	case architect.Metrics:
		r = p.metrics(depth)
	default:
		return "", tool.Errorf(tool.InvalidArgument, "there is no analysis %q", kind).
			Suggest("Ask for overview, dependencies, structure or metrics.")
	}
	switch format {
	case architect.Text, "":
		w := new(page)
		r.text(w)
		return w.String(), nil
	case architect.Mermaid:
		return r.mermaid(), nil
	case architect.JSON:
		out, err := json.MarshalIndent(r, "", "  ")
		return string(out), err
	}
	return "", tool.Errorf(tool.InvalidArgument, "there is no output format %q", format).
		Suggest("Ask for text, json or mermaid.")
}
