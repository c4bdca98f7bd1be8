package plugins

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// ownTools are the tools of a plugin without a process: the host calls them itself.
type ownTools struct {
	mu    sync.Mutex
	tools map[string]tool.Tool // nil until configured
}

// inProcess reports whether the plugin's tools run in this process. An attached plugin always has its own.
func (p *plugin) inProcess() bool {
	_, attached := p.attachment()
	return p.spec.InProcess && !attached
}

// ownTool returns a tool of the plugin itself, which is configured at the first use, as its process would be.
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
