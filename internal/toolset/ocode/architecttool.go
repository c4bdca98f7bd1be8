package ocode

import (
	"context"
	"strings"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/toolset/ocode/architect"
)

type architectParams struct {
	Analysis string         `json:"analysis_type"`
	Path     string         `json:"path"`
	Depth    schema.Integer `json:"depth"`
	Format   string         `json:"output_format"`
}

func runArchitect(ctx context.Context, deps Deps, _ *tool.Call, p architectParams) (*outcome, error) {
	if p.Depth < 1 {
		return nil, invalid("Give 1 or more.", "Invalid depth: %d", p.Depth)
	}
	analyzer := architect.New(deps.Workspace,
		architect.Options{Binary: deps.Architect, Prepare: deps.PrepareReading, Allow: deps.Trees})
	reply, err := analyzer.Analyze(ctx, architect.Request{
		Path: p.Path, Kind: architect.Kind(p.Analysis), Format: architect.Format(p.Format), Depth: int(p.Depth),
	})
	if err != nil {
		return nil, pathError(err, p.Path)
	}
	s := reply.Summary
	o := &outcome{output: reply.Output, metadata: facts{
		"analysis_type": p.Analysis, "files": s.Files, "directories": s.Directories, "lines": s.Lines, "code": s.Code,
		"languages": append([]string{}, s.Languages...), "components": s.Components, "dependencies": s.Dependencies,
		"cycles": s.Cycles,
	}}
	if len(reply.Warnings) > 0 {
		o.warn(strings.Join(reply.Warnings, "\n"))
	}
	return o, nil
}
