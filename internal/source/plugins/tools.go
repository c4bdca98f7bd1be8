package plugins

import (
	"context"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
)

// remote returns a tool as the plugin's process describes it.
func (p *plugin) remote(t pluginclient.Tool) tool.Tool {
	r := p.remoteTool(t.Definition)
	if t.Normalizes {
		r.normalize = r.askNormalize
	}
	r.commands = t.Commands
	if t.RendersErrors {
		return r.offering(t.Plans, r.askRenderError)
	}
	return r.offering(t.Plans, nil)
}

// remoteTool returns a tool with the prefix and timeout of the plugin's spec.
func (p *plugin) remoteTool(d *tool.Definition) *remoteTool {
	own := d.Name
	if _, attached := p.attachment(); attached {
		longer := *d
		longer.Timeout, d = attachedCallTimeout, &longer
	}
	if p.spec.CallTimeout > 0 || p.spec.Prefix != "" {
		changed := *d
		changed.Name = p.spec.Prefix + d.Name
		if p.spec.CallTimeout > 0 {
			changed.Timeout = p.spec.CallTimeout
		}
		d = &changed
	}
	t := &remoteTool{plugin: p, name: own, definition: d}
	if len(d.Parameters) > 0 && !p.spec.Shipped {
		changed := *d
		changed.Parameters, t.losses = schema.Parameters(d.Parameters)
		t.definition = &changed
	}
	return t
}

// shippedTools returns a shipped plugin's tools. Only what acts on the workspace runs in the plugin's
// process: definitions, parameters and errors come from the host binary.
func (p *plugin) shippedTools() []tool.Tool {
	out := make([]tool.Tool, len(p.shipped.Tools))
	for i, t := range p.shipped.Tools {
		out[i] = p.shippedTool(t)
	}
	return out
}

func (p *plugin) shippedTool(t tool.Tool) tool.Tool {
	r := p.remoteTool(t.Definition())
	if own, ok := t.(tool.Normalizer); ok {
		r.normalize = own.Normalize
	}
	_, r.commands = t.(tool.Commander)
	_, plans := t.(tool.Planner)
	if own, ok := t.(tool.ErrorRenderer); ok {
		return r.offering(plans, own.RenderError)
	}
	return r.offering(plans, p.shipped.RenderError)
}

// planner and renderer add optional interfaces. Normalizer and Commander are always there and change nothing if the
// plugin has none.
type (
	planner  struct{ tool *remoteTool }
	renderer struct {
		render func(*tool.Call, *tool.Error) *tool.Result
	}
)

// Plan implements tool.Planner.
func (p planner) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	t := p.tool
	if t.plugin.inProcess() {
		own, err := t.plugin.ownTool(ctx, t.name)
		if err != nil {
			return nil, err
		}
		return own.(tool.Planner).Plan(ctx, t.named(call))
	}
	return ask(ctx, t, func(c *pluginclient.Client) (*tool.Plan, error) { return c.Plan(ctx, t.named(call)) })
}

// RenderError implements tool.ErrorRenderer.
func (r renderer) RenderError(call *tool.Call, err *tool.Error) *tool.Result {
	return r.render(call, err)
}

// offering returns t with the interfaces that the plugin declares for it.
func (t *remoteTool) offering(plans bool, render func(*tool.Call, *tool.Error) *tool.Result) tool.Tool {
	switch {
	case plans && render != nil:
		return struct {
			*remoteTool
			planner
			renderer
		}{t, planner{t}, renderer{render}}
	case plans:
		return struct {
			*remoteTool
			planner
		}{t, planner{t}}
	case render != nil:
		return struct {
			*remoteTool
			renderer
		}{t, renderer{render}}
	}
	return t
}
