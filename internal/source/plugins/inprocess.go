package plugins

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// ownTools are the tools of a plugin that has no process: the host calls them
// itself.
type ownTools struct {
	mu    sync.Mutex
	tools map[string]tool.Tool // nil until the plugin is configured
}

// inProcess reports whether the plugin's tools are called in this process. One
// that is attached has a process all the same.
func (p *plugin) inProcess() bool {
	_, attached := p.attachment()
	return p.spec.InProcess && !attached
}

// ownTool gives a tool of the plugin itself. The plugin is configured at the
// first use, as its process would be.
func (p *plugin) ownTool(ctx context.Context, name string) (tool.Tool, error) {
	if p.isClosed() {
		return nil, closedError(p.spec.Name)
	}
	p.own.mu.Lock()
	defer p.own.mu.Unlock()
	if p.own.tools == nil {
		tools, err := p.configureHere(ctx)
		p.Lock()
		p.LastError = err
		p.Unlock()
		if err != nil {
			return nil, err
		}
		p.own.tools = tools
	}
	if t := p.own.tools[name]; t != nil {
		return t, nil
	}
	return nil, tool.Errorf(tool.NotFound, "plugin %s has no tool %q", p.spec.Name, name).
		Suggest("Look at the plugin's config block: it may leave the tool out.")
}

func (p *plugin) configureHere(ctx context.Context) (map[string]tool.Tool, *tool.Error) {
	config, err := checkConfig(p.spec, p.shipped.ConfigSchema)
	if err != nil {
		return nil, tool.AsError(err)
	}
	list := p.shipped.Tools
	if p.shipped.Configure != nil {
		options := p.manager.options
		made, err := p.shipped.Configure(ctx,
			sdk.Env{Config: config, Workspace: options.Workspace, HostVersion: options.HostVersion})
		if err != nil {
			return nil, tool.AsError(err)
		}
		if made != nil {
			list = made
		}
	}
	tools := make(map[string]tool.Tool, len(list))
	for _, t := range list {
		tools[t.Definition().Name] = t
	}
	return tools, nil
}

// callHere runs the tool in this process.
func (t *remoteTool) callHere(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	own, err := t.plugin.ownTool(ctx, t.name)
	if err != nil {
		return nil, err
	}
	t.plugin.countCall()
	return own.Call(ctx, t.named(call))
}

// planHere makes the tool's plan in this process. Only tools that make plans
// are asked for one.
func (t *remoteTool) planHere(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	own, err := t.plugin.ownTool(ctx, t.name)
	if err != nil {
		return nil, err
	}
	return own.(tool.Planner).Plan(ctx, t.named(call))
}

// commandLineHere tells the tool's command line in this process.
func (t *remoteTool) commandLineHere(ctx context.Context, call *tool.Call) ([]string, error) {
	own, err := t.plugin.ownTool(ctx, t.name)
	if err != nil {
		return nil, err
	}
	return own.(tool.Commander).CommandLine(ctx, t.named(call))
}
