package plugins

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/internal/pluginclient"
)

// The optional interfaces of a tool, each as a part that a tool is made of.
type (
	planner struct {
		plan func(context.Context, *tool.Call) (*tool.Plan, error)
	}
	renderer struct {
		render func(*tool.Call, *tool.Error) *tool.Result
	}
	normalizer struct {
		normalize func(json.RawMessage) json.RawMessage
	}
)

func (p planner) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	return p.plan(ctx, call)
}

func (r renderer) RenderError(call *tool.Call, err *tool.Error) *tool.Result {
	return r.render(call, err)
}

func (n normalizer) Normalize(params json.RawMessage) json.RawMessage { return n.normalize(params) }

// remote gives a tool of the plugin, with the interfaces that it declares.
func (p *plugin) remote(t pluginclient.Tool) tool.Tool {
	r := p.remoteTool(t.Definition)
	var pl *planner
	var re *renderer
	var no *normalizer
	if t.Plans {
		pl = &planner{r.plan}
	}
	if t.RendersErrors {
		re = &renderer{r.renderError}
	}
	if t.Normalizes {
		no = &normalizer{r.normalize}
	}
	return compose(r, pl, re, no)
}

// remoteTool gives a tool under the name and with the timeout that the spec
// says.
func (p *plugin) remoteTool(d *tool.Definition) *remoteTool {
	own := d.Name
	if p.spec.CallTimeout > 0 || p.spec.Prefix != "" {
		changed := *d
		changed.Name = p.spec.Prefix + d.Name
		if p.spec.CallTimeout > 0 {
			changed.Timeout = p.spec.CallTimeout
		}
		d = &changed
	}
	return &remoteTool{plugin: p, name: own, definition: d}
}

// shippedTools gives the tools of a shipped plugin. Only what acts on the
// workspace happens in the plugin's process: what a tool says of itself, of
// parameters and of errors is code of the host binary.
func (p *plugin) shippedTools() []tool.Tool {
	out := make([]tool.Tool, len(p.shipped.Tools))
	for i, t := range p.shipped.Tools {
		out[i] = p.shippedTool(t)
	}
	return out
}

func (p *plugin) shippedTool(t tool.Tool) tool.Tool {
	r := p.remoteTool(t.Definition())
	var pl *planner
	var re *renderer
	var no *normalizer
	if _, ok := t.(tool.Planner); ok {
		pl = &planner{r.plan}
	}
	if own, ok := t.(tool.ErrorRenderer); ok {
		re = &renderer{own.RenderError}
	} else if p.shipped.RenderError != nil {
		re = &renderer{p.shipped.RenderError}
	}
	if own, ok := t.(tool.Normalizer); ok {
		no = &normalizer{own.Normalize}
	}
	return compose(r, pl, re, no)
}

// compose gives t with exactly those of the optional interfaces that are not
// nil, since callers find out by type assertion.
func compose(t *remoteTool, p *planner, r *renderer, n *normalizer) tool.Tool {
	switch {
	case p != nil && r != nil && n != nil:
		return struct {
			*remoteTool
			*planner
			*renderer
			*normalizer
		}{t, p, r, n}
	case p != nil && r != nil:
		return struct {
			*remoteTool
			*planner
			*renderer
		}{t, p, r}
	case p != nil && n != nil:
		return struct {
			*remoteTool
			*planner
			*normalizer
		}{t, p, n}
	case r != nil && n != nil:
		return struct {
			*remoteTool
			*renderer
			*normalizer
		}{t, r, n}
	case p != nil:
		return struct {
			*remoteTool
			*planner
		}{t, p}
	case r != nil:
		return struct {
			*remoteTool
			*renderer
		}{t, r}
	case n != nil:
		return struct {
			*remoteTool
			*normalizer
		}{t, n}
	}
	return t
}
