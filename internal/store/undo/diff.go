package undo

import (
	"context"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// Difference is what calls have changed.
type Difference struct {
	Session string `json:"session"`
	// Calls are those shown, newest first.
	Calls []string `json:"calls"`
	// Files are the paths that differ, sorted.
	Files   []string       `json:"files"`
	Summary change.Summary `json:"summary"`
	// Diff is for people: from the files before the first of the calls to now.
	Diff string `json:"diff,omitempty"`
	// Since are files changed since by others, which Diff shows too.
	Since []string `json:"since,omitempty"`
	// Unknown are changes whose old content is not kept; Lost says why.
	Unknown []Change `json:"unknown,omitempty"`
}

// Diff returns what the selected calls have changed and is not undone, without changing anything. Errors are
// those of Undo.
func (s *Store) Diff(ctx context.Context, ws *workspace.Workspace, sel Selection) (*Difference, error) {
	v, h, err := s.loadFor(ctx, sel)
	if err != nil {
		return nil, err
	}
	defer v.close()
	sel.Ours, sel.Skip = true, true
	p, err := s.plan(ctx, v, h, ws, sel)
	if err != nil {
		return nil, err
	}
	plan := p.public()
	d := &Difference{Session: plan.Session, Calls: plan.Calls, Files: plan.Files, Diff: p.difference(), Since: plan.Over,
		Summary: change.Summary{Paths: len(plan.Files)}, Unknown: plan.Skipped}
	d.Summary.CountDiff(d.Diff)
	return d, nil
}

// difference is the preview in reverse.
func (p *planner) difference() string {
	var b strings.Builder
	for _, o := range slices.Backward(p.ops) {
		if b.Len() > maxPreview {
			b.WriteString(change.Cut)
			break
		}
		b.WriteString(p.describe(o.back()))
	}
	return b.String()
}

// back returns the step from the wanted state to the present one.
func (o op) back() op {
	b := op{kind: o.kind, path: o.path, to: o.to, base: o.want, want: o.base}
	switch o.kind {
	case opRename:
		b.path, b.to = o.to, o.path
	case opMkdir:
		b.kind = opRmdir
	case opRmdir:
		b.kind = opMkdir
	case opSymlink:
		b.kind = opFile // it is removed
	case opFile, opFileLate:
		if b.want.isLink() {
			b.kind = opSymlink
		}
	}
	return b
}
