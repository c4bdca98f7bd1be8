package ocode

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk/registry"
	"github.com/toolhost/toolhost/plugins/shipped/ocode/architect"
)

type architectParams struct {
	Analysis string         `json:"analysis_type"`
	Path     string         `json:"path"`
	Depth    schema.Integer `json:"depth"`
	Format   string         `json:"output_format"`
}

func architectTool(deps Deps) tool.Tool {
	return newTool(deps, spec[architectParams]{
		Definition: tool.Definition{
			Name:  "architect",
			Title: "Analyze a project's architecture",
			Description: "Describes a source tree: overview tells its languages, sizes and main parts; structure its directories; dependencies which part imports which, with cycles named; metrics its lines and complexity. " +
				"Imports are read for Go, Python, JavaScript, TypeScript, Java and Rust. " +
				"Returns: the report as text, JSON or a Mermaid diagram, and in metadata its main figures.",
			Category:    "analysis",
			Risk:        tool.ReadOnly,
			Permissions: []tool.Permission{tool.FileRead},
			Timeout:     architect.DefaultTimeout + 30*time.Second,
			Idempotent:  true,
			Examples: []tool.Example{
				{Params: json.RawMessage(`{"analysis_type":"overview"}`)},
				{Description: "A diagram of what imports what", Params: json.RawMessage(`{"analysis_type":"dependencies","path":"src","depth":2,"output_format":"mermaid"}`)},
			},
		},
		parameters: []registry.Parameter{
			{Name: "analysis_type", Type: "string", Required: true, Enum: registry.Strings("overview", "dependencies", "structure", "metrics"), Description: "What to find out."},
			{Name: "path", Type: "string", Default: ".", Description: "The directory to analyze, relative to the workspace."},
			{Name: "depth", Type: "integer", Default: 3, Description: "How many levels of directories to tell apart, from 1."},
			{Name: "output_format", Type: "string", Default: "text", Enum: registry.Strings("text", "json", "mermaid"), Description: "How to write the report."},
		},
		facts: `"files":{"type":"integer","description":"Source files."},` +
			`"directories":{"type":"integer","description":"Directories with source files."},` +
			`"lines":{"type":"integer","description":"Lines of them."},` +
			`"code":{"type":"integer","description":"Lines that hold code."},` +
			`"languages":{"type":"array","items":{"type":"string"},"description":"The languages, the largest first."},` +
			`"components":{"type":"integer","description":"Parts that import or are imported."},` +
			`"dependencies":{"type":"integer","description":"Imports between them."},` +
			`"cycles":{"type":"integer","description":"Groups of parts that import each other."},` +
			`"analysis_type":{"type":"string","description":"What was asked for."}`,
		run: runArchitect,
	})
}

func runArchitect(ctx context.Context, deps Deps, _ *tool.Call, p architectParams) (*outcome, error) {
	if p.Depth < 1 {
		return nil, invalid("Give 1 or more.", "Invalid depth: %d", p.Depth)
	}
	analyzer := architect.New(deps.Workspace, architect.Options{Binary: deps.Architect, Prepare: deps.PrepareReading, Allow: deps.Trees})
	reply, err := analyzer.Analyze(ctx, architect.Request{
		Path: p.Path, Kind: architect.Kind(p.Analysis), Format: architect.Format(p.Format), Depth: int(p.Depth),
	})
	if err != nil {
		return nil, pathError(err, p.Path)
	}
	s := reply.Summary
	o := &outcome{output: reply.Output, metadata: facts{
		"analysis_type": p.Analysis, "files": s.Files, "directories": s.Directories, "lines": s.Lines, "code": s.Code,
		"languages": append([]string{}, s.Languages...), "components": s.Components, "dependencies": s.Dependencies, "cycles": s.Cycles,
	}}
	if len(reply.Warnings) > 0 {
		o.warn(strings.Join(reply.Warnings, "\n"))
	}
	return o, nil
}
