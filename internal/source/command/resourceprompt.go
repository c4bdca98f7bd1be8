package command

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// mostCompletions bounds the suggested values.
const mostCompletions = 100

// NewResource returns a declared resource.
func NewResource(r argv.Resource, deps Deps) (tool.Resource, error) {
	template, err := argv.ParseURITemplate(r.URI)
	if err != nil {
		return nil, tool.Errorf(tool.InvalidArgument, "the URI of the resource %q cannot be used (%s): %w", r.Name,
			r.Pos, err).
			Suggest("Correct it in agent.hcl.")
	}
	content := r.Content
	content.Kind = tool.KindResource
	spec := argv.Spec{
		Name: "resource:" + r.Name, Title: r.Title, Description: r.Description, Risk: r.Risk,
		Permissions: r.Permissions,
		Command:     r.Command, Params: r.Params, Outputs: []argv.Content{content}, Access: r.Access, Pos: r.Pos,
	}
	made, err := offer(spec, deps)
	if err != nil {
		return nil, err
	}
	made.complete = r.Complete
	return &resource{offered: made, declared: r, template: template}, nil
}

// offer returns the tool behind a resource or prompt.
func offer(spec argv.Spec, deps Deps) (offered, error) {
	o := offered{spec: spec, workspace: deps.Workspace}
	if spec.Command != nil {
		run, err := New(spec, deps)
		o.Tool = run
		return o, err
	}
	if len(spec.Permissions) == 0 {
		spec.Permissions = []tool.Permission{tool.FileRead}
	}
	o.Tool = &fixed{spec: spec, workspace: deps.Workspace, definition: &tool.Definition{
		Name: spec.Name, Title: spec.Title, Description: withReturns(spec), Parameters: spec.Schema(),
		Risk: tool.ReadOnly, Permissions: spec.Permissions,
	}}
	return o, nil
}

// offered is shared by resources and prompts.
type offered struct {
	tool.Tool
	spec      argv.Spec
	workspace *workspace.Workspace
	complete  map[string]argv.Suggestions
}

// CommandLine implements tool.Commander, for policies; nil if nothing runs.
func (o *offered) CommandLine(ctx context.Context, call *tool.Call) ([]string, error) {
	if c, ok := o.Tool.(tool.Commander); ok {
		return c.CommandLine(ctx, call)
	}
	return nil, nil
}

// Answers implements tool.Answerer.
func (o *offered) Answers(ctx context.Context, call *tool.Call) (map[string]any, error) {
	if a, ok := o.Tool.(tool.Answerer); ok {
		return a.Answers(ctx, call)
	}
	return nil, nil
}

// Plan implements tool.Planner, for approvals.
func (o *offered) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	if p, ok := o.Tool.(tool.Planner); ok {
		return p.Plan(ctx, call)
	}
	return &tool.Plan{}, nil
}

// Complete implements tool.Completer: declared values, those of an enumeration, and the workspace's files for a
// path.
func (o *offered) Complete(ctx context.Context, wanted tool.Completion) ([]string, error) {
	typed := wanted.Typed
	i := slices.IndexFunc(o.spec.Params, func(p argv.Param) bool { return p.Name == wanted.Argument })
	if i < 0 {
		return nil, nil
	}
	values := slices.Concat(o.complete[wanted.Argument].For(wanted.Chosen), o.spec.Params[i].Enum)
	if o.spec.Params[i].Path.IsPath() && !strings.ContainsAny(typed, `*?[{\`) {
		files, err := o.workspace.Glob(ctx, typed+"*", workspace.GlobOptions{NoHidden: true})
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		values = append(values, files...)
	}
	values = slices.DeleteFunc(values, func(v string) bool { return !strings.HasPrefix(v, typed) })
	slices.Sort(values)
	values = slices.Compact(values)
	return values[:min(len(values), mostCompletions)], nil
}

// fixed returns declared content without running anything.
type fixed struct {
	spec       argv.Spec
	workspace  *workspace.Workspace
	definition *tool.Definition
}

// Definition implements tool.Tool.
func (f *fixed) Definition() *tool.Definition { return f.definition }

// Call implements tool.Tool.
func (f *fixed) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	values, err := decode(call)
	if err != nil {
		return nil, err
	}
	if err := Answers(ctx, call, f.spec.Asks, values); err != nil {
		return nil, err
	}
	if err := argv.CheckPaths(f.spec.Params, values, Paths(ctx, f.workspace)); err != nil {
		return nil, err
	}
	m := &maker{workspace: f.workspace, values: values}
	contents, structured, err := m.contents(ctx, f.spec.Outputs)
	if err != nil {
		return nil, err
	}
	return &tool.Result{Contents: contents, Structured: structured}, nil
}

type resource struct {
	offered
	declared argv.Resource
	template *argv.URITemplate
}

// Resource implements tool.Resource.
func (r *resource) Resource() *tool.ResourceDefinition {
	d := &r.declared
	return &tool.ResourceDefinition{
		Name: d.Name, Title: d.Title, Description: d.Description, URI: d.URI,
		Template: len(r.template.Names()) > 0, MIMEType: d.Content.MIME,
	}
}

// Match implements tool.Resource.
func (r *resource) Match(uri string) (json.RawMessage, bool) {
	values, ok := r.template.Match(uri)
	if !ok {
		return nil, false
	}
	return tool.MustMarshal(values), true
}

// Watch implements tool.Watched.
func (r *resource) Watch() []string {
	if !r.declared.Watch || r.declared.Content.File == nil {
		return nil
	}
	name := r.declared.Content.File.Text(nil)
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.workspace.Root(), name)
	}
	return []string{name}
}

// NewPrompt returns a declared prompt.
func NewPrompt(p argv.Prompt, deps Deps) (tool.Prompt, error) {
	spec := argv.Spec{Name: "prompt:" + p.Name, Title: p.Title, Description: p.Description, Asks: p.Asks, Pos: p.Pos}
	for _, a := range p.Arguments {
		spec.Params = append(spec.Params, a.Param)
	}
	for _, m := range p.Messages {
		spec.Outputs = append(spec.Outputs, m.Content)
	}
	made, err := offer(spec, deps)
	if err != nil {
		return nil, err
	}
	made.complete = p.Complete
	return &prompt{offered: made, declared: p}, nil
}

type prompt struct {
	offered
	declared argv.Prompt
}

// Prompt implements tool.Prompt.
func (p *prompt) Prompt() *tool.PromptDefinition {
	def := &tool.PromptDefinition{Name: p.declared.Name, Title: p.declared.Title, Description: p.declared.Description}
	for i := range p.declared.Arguments {
		a := &p.declared.Arguments[i]
		def.Arguments = append(def.Arguments,
			tool.PromptArgument{Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required()})
	}
	return def
}

// Call implements tool.Tool. Each part is the content of one message.
func (p *prompt) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	result, err := p.Tool.Call(ctx, call)
	if err != nil {
		return nil, err
	}
	for i := range result.Contents {
		result.Contents[i].Role = p.declared.Messages[i].Role
	}
	return result, nil
}
