package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/source/plugins/pluginclient"
)

// exitWait is how long a call that lost its connection waits for the process's exit status.
const exitWait = 2 * time.Second

// renderTimeout bounds requests to a plugin without a caller's context.
const renderTimeout = 10 * time.Second

func (p *plugin) tools(ctx context.Context) ([]tool.Tool, error) {
	if p.shipped != nil {
		return p.shippedTools(), nil
	}
	d, err := p.describeTools(ctx)
	if err != nil {
		return nil, err
	}
	return p.remotes(d), nil
}

func (p *plugin) remotes(d *pluginclient.Description) []tool.Tool {
	out := make([]tool.Tool, len(d.Tools))
	for i, t := range d.Tools {
		out[i] = p.remote(t)
	}
	return out
}

// known returns the running process's description, or the cached one of the present program.
func (p *plugin) known() (*pluginclient.Description, bool) {
	p.Lock()
	running, description := p.Current != nil && p.Current.isReady(), p.description
	p.Unlock()
	if running {
		return description, true
	}
	if _, attached := p.attachment(); attached {
		return nil, false
	}
	entry, ok := p.manager.cache.current(&p.spec)
	if !ok {
		return nil, false
	}
	p.recall(entry)
	return entry.Description, true
}

// describeTools takes the description from the running process, the cache, or a process started for it.
func (p *plugin) describeTools(ctx context.Context) (*pluginclient.Description, error) {
	if d, ok := p.known(); ok {
		return d, nil
	}
	var entry *cacheEntry
	if _, attached := p.attachment(); !attached {
		var fresh bool
		if entry, fresh = p.manager.cache.fresh(&p.spec); fresh {
			p.recall(entry)
			return entry.Description, nil
		}
	}
	in, err := p.acquire(ctx)
	if err == nil {
		p.done(in)
	}
	p.Lock()
	defer p.Unlock()
	switch {
	case err == nil || p.description != nil:
		return p.description, nil
	case entry != nil:
		p.description = entry.Description
		return p.description, nil
	}
	return nil, err
}

func (p *plugin) recall(e *cacheEntry) {
	p.Lock()
	defer p.Unlock()
	p.description, p.sha256 = e.Description, e.SHA256
}

func (p *plugin) describe(ctx context.Context) (*Description, error) {
	if p.shipped != nil {
		out := &Description{Name: p.shipped.Name, Version: p.shipped.Version, ConfigSchema: p.shipped.ConfigSchema}
		for _, s := range p.shipped.Services {
			out.Services = append(out.Services, string(s))
		}
		for _, t := range p.shipped.Tools {
			out.Tools = append(out.Tools, t.Definition())
		}
		return out, nil
	}
	d, err := p.describeTools(ctx)
	if err != nil {
		return nil, err
	}
	out := &Description{Name: d.Name, Version: d.Version, ConfigSchema: d.ConfigSchema, Services: d.Services}
	for _, t := range d.Tools {
		out.Tools = append(out.Tools, t.Definition)
	}
	return out, nil
}

type remoteTool struct {
	plugin     *plugin
	name       string // in the plugin
	definition *tool.Definition
	losses     []schema.Loss                         // of its schema
	normalize  func(json.RawMessage) json.RawMessage // nil leaves parameters unchanged
	commands   bool                                  // whether it has a command line
}

// Definition implements tool.Tool.
func (t *remoteTool) Definition() *tool.Definition { return t.definition }

// Unavailable returns why a call would fail now, nil if unknown.
func (t *remoteTool) Unavailable() *tool.Error {
	if e := t.refusal(); e != nil {
		return e
	}
	t.plugin.Lock()
	defer t.plugin.Unlock()
	return t.plugin.LastError
}

// refusal returns the error of a tool that needs permissions its plugin lacks, else nil.
func (t *remoteTool) refusal() *tool.Error {
	missing := t.plugin.missing(t.definition)
	if missing == nil {
		return nil
	}
	return tool.Errorf(tool.PermissionDenied, "%s needs %s, which plugin %s was not granted", t.definition.Name,
		missing, t.plugin.spec.Name).
		Suggest("Add it to permissions in the plugin's block of agent.hcl if the plugin may have it.").With("missing",
		missing)
}

// Call runs the tool in the plugin's process, starting it if necessary, or in this one.
func (t *remoteTool) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	if e := t.refusal(); e != nil {
		return nil, e
	}
	if t.plugin.inProcess() {
		own, err := t.plugin.ownTool(ctx, t.name)
		if err != nil {
			return nil, err
		}
		t.plugin.countCall()
		return own.Call(ctx, t.named(call))
	}
	if serving := t.plugin.manager.options.Serving; serving != nil {
		defer serving(ctx, t.plugin.spec.Name)()
	}
	in, err := t.plugin.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer t.plugin.done(in)
	t.plugin.countCall()
	result, err := in.client.Call(ctx, t.named(call))
	if errors.Is(err, pluginclient.ErrConnection) {
		return nil, t.plugin.lost(ctx, in, err)
	}
	t.plugin.Succeeded()
	return result, err
}

// named returns call with the plugin's name for the tool; a prefix or toolset may have renamed it.
func (t *remoteTool) named(call *tool.Call) *tool.Call {
	if call.Tool == t.name {
		return call
	}
	renamed := *call
	renamed.Tool = t.name
	return &renamed
}

// lost ends a process that lost its connection or hangs, and returns the error.
func (p *plugin) lost(ctx context.Context, in *instance, err error) *tool.Error {
	if errors.Is(err, pluginclient.ErrHung) {
		return p.hung(ctx, in)
	}
	select {
	case <-in.runner.exited:
	case <-time.After(exitWait):
	}
	if p.isClosed() {
		return closedError(p.spec.Name)
	}
	if in.Gone() {
		p.Lost(in)
		return in.crashError("died during the call")
	}
	p.abandon(in,
		in.explain(tool.Unavailable, fmt.Sprintf("the connection to plugin %s broke: %v", p.spec.Name, err), ""))
	return in.explain(tool.Unavailable, fmt.Sprintf("the connection to plugin %s broke: %v", p.spec.Name, err),
		"The next call starts the plugin again. Whether this call had an effect is not known: look before repeating it.")
}

func (p *plugin) hung(ctx context.Context, in *instance) *tool.Error {
	code, what := tool.Cancelled, "was cancelled"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code, what = tool.Timeout, "ran out of time"
	}
	e := in.explain(code, fmt.Sprintf("the call %s and plugin %s did not stop, so it was ended", what, p.spec.Name),
		"The next call starts the plugin again. Whether this call had an effect is not known: look before repeating it.")
	p.abandon(in, e)
	return e
}

// abandon takes in out of use and ends it, with its other calls.
func (p *plugin) abandon(in *instance, err *tool.Error) {
	in.stopping.Store(true)
	p.Abandon(in, err)
	in.life.event(LifeEnded, map[string]any{"pid": in.runner.pid(), "error": err.Message})
	p.manager.logger.Warn("plugin ended because it does not answer", "plugin", p.spec.Name, "pid", in.runner.pid())
	in.runner.stop()
	in.release()
}

// Normalize implements tool.Normalizer.
func (t *remoteTool) Normalize(params json.RawMessage) json.RawMessage {
	if t.normalize == nil {
		return params
	}
	return t.normalize(params)
}

// CommandLine implements tool.Commander. It returns nil for a tool that runs no program.
func (t *remoteTool) CommandLine(ctx context.Context, call *tool.Call) ([]string, error) {
	if !t.commands {
		return nil, nil
	}
	if t.plugin.inProcess() {
		own, err := t.plugin.ownTool(ctx, t.name)
		if err != nil {
			return nil, err
		}
		return own.(tool.Commander).CommandLine(ctx, t.named(call))
	}
	return ask(ctx, t, func(c *pluginclient.Client) ([]string, error) { return c.CommandLine(ctx, t.named(call)) })
}

// ask asks the plugin's process, starting it if necessary.
func ask[Answer any](ctx context.Context, t *remoteTool,
	question func(*pluginclient.Client) (Answer, error)) (answer Answer, err error) {
	in, err := t.plugin.acquire(ctx)
	if err != nil {
		return answer, err
	}
	defer t.plugin.done(in)
	answer, err = question(in.client)
	if errors.Is(err, pluginclient.ErrConnection) {
		return answer, t.plugin.lost(ctx, in, err)
	}
	return answer, err
}

// askRenderError asks the plugin for its form of an error; nil if it has none or cannot be asked.
func (t *remoteTool) askRenderError(call *tool.Call, failure *tool.Error) *tool.Result {
	ctx, cancel := context.WithTimeout(context.Background(), renderTimeout)
	defer cancel()
	result, err := ask(ctx, t, func(c *pluginclient.Client) (*tool.Result, error) {
		return c.RenderError(ctx, t.named(call), failure)
	})
	if err != nil {
		t.plugin.manager.logger.Warn("the plugin did not render an error", "plugin", t.plugin.spec.Name, "error", err)
		return nil
	}
	return result
}

// askNormalize asks the plugin for the form of params that the schema describes.
func (t *remoteTool) askNormalize(params json.RawMessage) json.RawMessage {
	ctx, cancel := context.WithTimeout(context.Background(), renderTimeout)
	defer cancel()
	out, err := ask(ctx, t, func(c *pluginclient.Client) (json.RawMessage, error) {
		return c.Normalize(ctx, t.name, params)
	})
	if err != nil {
		return params
	}
	return out
}

// Warning says which keywords the tool's schema loses, nil if none.
func (t *remoteTool) Warning() *tool.Error {
	if len(t.losses) == 0 {
		return nil
	}
	return tool.Errorf(tool.Unsupported, "the tool %q of plugin %s goes without a part of its schema: %s",
		t.definition.Name, t.plugin.spec.Name, show.SanitizeLine(schema.Told(t.losses), show.MostText)).
		Suggest("The rest of the schema is used. Tell the plugin's author.")
}
