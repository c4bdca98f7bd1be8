package search

import (
	"context"
	"strings"

	"github.com/toolhost/toolhost/internal/files/workspace"
)

// GlobQuery is one search for files by name.
type GlobQuery struct {
	// Pattern is a glob as Workspace.Glob describes it, relative to Dir.
	Pattern string
	// Dir is where the pattern begins; "" is the workspace.
	Dir string
	// Hidden includes entries whose name begins with a dot.
	Hidden bool
	// NoIgnore includes what .gitignore leaves out; .git stays out.
	NoIgnore bool
	// FilesOnly leaves out directories.
	FilesOnly bool
	// Max bounds how many paths are returned, after Offset were left out. They
	// are still counted. 0 is no bound.
	Max, Offset int
}

// Paths is what a GlobQuery found.
type Paths struct {
	// Paths are relative to the workspace, in bytewise order.
	Paths []string
	// Total is how many there are, returned or not.
	Total int
	// Truncated is true when there are more behind those returned.
	Truncated bool
}

// Glob finds files and directories by name. No match is an empty result.
// Errors are those of Workspace.Glob.
func (s *Searcher) Glob(ctx context.Context, q GlobQuery) (*Paths, error) {
	pattern := q.Pattern
	if q.Dir != "" && q.Dir != "." {
		pattern = escapeGlob(strings.TrimSuffix(q.Dir, "/")) + "/" + pattern
	}
	opts := workspace.GlobOptions{Gitignore: !q.NoIgnore, NoHidden: !q.Hidden, FilesOnly: q.FilesOnly}
	if q.NoIgnore {
		opts.SkipDirs = []string{".git"}
	}
	found, err := s.ws.Glob(ctx, pattern, opts)
	if err != nil {
		return nil, err
	}
	p := &Paths{Total: len(found)}
	p.Paths = found[min(q.Offset, len(found)):]
	if q.Max > 0 && len(p.Paths) > q.Max {
		p.Paths, p.Truncated = p.Paths[:q.Max], true
	}
	return p, nil
}
