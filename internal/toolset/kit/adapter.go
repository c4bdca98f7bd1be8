package kit

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/host/tool"
)

// toolAdapter is a tool of a toolset. It is not generic: each type of parameters would have its own code.
type toolAdapter struct {
	definition *tool.Definition
	call       func(context.Context, *tool.Call) (*tool.Result, error)
	plan       func(context.Context, *tool.Call) (*tool.Plan, error)
	command    func(*tool.Call) ([]string, error)
	render     func(*tool.Call, *tool.Error) *tool.Result
	normalize  func(json.RawMessage) json.RawMessage
}

// Definition implements tool.Tool.
func (t *toolAdapter) Definition() *tool.Definition { return t.definition }

// Call implements tool.Tool.
func (t *toolAdapter) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	return t.call(ctx, call)
}

// withInterfaces returns the tool with the optional interfaces that it implements.
func (t *toolAdapter) withInterfaces() tool.Tool {
	switch {
	case t.render == nil && t.plan == nil:
		return t
	case t.render == nil:
		return struct {
			*toolAdapter
			planner
		}{t, planner{t}}
	case t.plan == nil && t.command == nil:
		return struct {
			*toolAdapter
			renderer
		}{t, renderer{t}}
	case t.plan == nil:
		return struct {
			*toolAdapter
			renderer
			commander
		}{t, renderer{t}, commander{t}}
	case t.command == nil:
		return struct {
			*toolAdapter
			renderer
			planner
		}{t, renderer{t}, planner{t}}
	}
	return struct {
		*toolAdapter
		renderer
		planner
		commander
	}{t, renderer{t}, planner{t}, commander{t}}
}

// renderer, planner and commander are embedded for those interfaces.
type (
	renderer  struct{ tool *toolAdapter }
	planner   struct{ tool *toolAdapter }
	commander struct{ tool *toolAdapter }
)

// RenderError implements tool.ErrorRenderer.
func (r renderer) RenderError(call *tool.Call, err *tool.Error) *tool.Result {
	return r.tool.render(call, err)
}

// Normalize implements tool.Normalizer.
func (r renderer) Normalize(params json.RawMessage) json.RawMessage { return r.tool.normalize(params) }

// Plan implements tool.Planner.
func (p planner) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	return p.tool.plan(ctx, call)
}

// CommandLine implements tool.Commander.
func (c commander) CommandLine(_ context.Context, call *tool.Call) ([]string, error) {
	return c.tool.command(call)
}
