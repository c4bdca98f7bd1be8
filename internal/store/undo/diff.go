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
	// Calls are those shown, the newest first.
	Calls []string `json:"calls"`
	// Files are the paths that differ, sorted.
	Files []string `json:"files"`
	// Summary counts what differs.
	Summary change.Summary `json:"summary"`
	// Diff shows the changes to a person: from what the files held before the
	// first of the calls to what they hold now.
	Diff string `json:"diff,omitempty"`
	// Since are files that somebody has changed since, which is in Diff too.
	Since []string `json:"since,omitempty"`
	// Unknown are changes whose old content was not kept; Lost says why.
	Unknown []Change `json:"unknown,omitempty"`
}

// Diff shows what the selected calls have changed, as far as it stands, and
// changes nothing. Errors are those of Undo.
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

// difference is the preview, looked at from the other end.
func (p *planner) difference() string {
	var b strings.Builder
	for _, o := range slices.Backward(p.ops) {
		if b.Len() > maxPreview {
			b.WriteString("(more changes are not shown)\n")
			break
		}
		b.WriteString(p.describe(o.back()))
	}
	return b.String()
}

// back is the step that leads from what is wanted to what is there.
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
		b.kind = opFile // it goes
	case opFile, opFileLate:
		if b.want.isLink() {
			b.kind = opSymlink
		}
	}
	return b
}
