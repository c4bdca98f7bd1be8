package host

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
)

// placed returns the result with its artifacts named for callers: in order, and relative to the workspace if
// inside it. r itself is not changed: a tool may keep it.
func placed(r *tool.Result, root string) *tool.Result {
	if r == nil || len(r.Artifacts) == 0 {
		return r
	}
	out := *r
	out.Artifacts = slices.Clone(r.Artifacts)
	for i := range out.Artifacts {
		a := &out.Artifacts[i]
		if rel, err := filepath.Rel(root, a.Path); err == nil && filepath.IsAbs(a.Path) && filepath.IsLocal(rel) {
			a.Path = filepath.ToSlash(rel)
		}
	}
	slices.SortStableFunc(out.Artifacts, func(a, b tool.Artifact) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path))
	})
	return &out
}
