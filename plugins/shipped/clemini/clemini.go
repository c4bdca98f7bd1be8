// Package clemini is the plugin of the toolset clemini: thirteen tools whose
// results are JSON objects, and whose failures are objects of error,
// error_code and context.
package clemini

import (
	"context"
	"encoding/json"
	"os/exec"

	"github.com/toolhost/toolhost/host/background"
	"github.com/toolhost/toolhost/host/netguard"
	"github.com/toolhost/toolhost/host/sandbox"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/search"
	"github.com/toolhost/toolhost/host/subagent"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/undo"
	"github.com/toolhost/toolhost/host/workspace"
	"github.com/toolhost/toolhost/plugins/shipped/internal/contract"
)

// Version is the plugin's version.
const Version = "1.0.0"

// Deps are what the tools work with. Without a Workspace they can be described
// and not called.
type Deps struct {
	Workspace *workspace.Workspace
	// Trees are further directories that commands may change.
	Trees []string
	// Confine is how commands and agents are confined.
	Confine sandbox.Settings
	// Search finds text. Nil makes one that is confined as well.
	Search *search.Searcher
	// Tasks are the background tasks; nil are those of the workspace.
	Tasks *background.Store
	// Agents are the programs that work on tasks.
	Agents subagent.Agents
	// Web fetches and searches. Nil reaches public addresses only.
	Web *netguard.Client
	// SearchURL is what web_search asks; "" is DuckDuckGo.
	SearchURL string
	// OutputCap is how many bytes of each stream of a command are shown;
	// proc.DefaultCap.
	OutputCap int
}

// New makes the tools.
func New(deps Deps) ([]tool.Tool, error) {
	d := &deps
	if d.Workspace != nil {
		if d.Search == nil {
			d.Search = search.New(d.Workspace, search.Options{Prepare: d.Confine.Confine(d.Workspace.Root(), d.Trees...)})
		}
		if d.Tasks == nil {
			d.Tasks = background.Open(d.Workspace.Root(), background.Options{})
		}
	}
	if d.SearchURL == "" {
		d.SearchURL = defaultSearchURL
	}
	if d.Web == nil {
		var err error
		if d.Web, err = netguard.New(netguard.Options{}); err != nil {
			return nil, err
		}
	}
	return []tool.Tool{
		readFile(d), writeFile(d), edit(d), glob(d), grep(d), bash(d), killShell(d), task(d), taskOutput(d),
		askUser(d), todoWrite(d), webSearch(d), webFetch(d),
	}, nil
}

// contractTool is a tool of the contract.
type contractTool struct {
	deps       *Deps
	definition *tool.Definition
	// work gives the object of a success.
	work func(context.Context, *Deps, *tool.Call) (*outcome, error)
}

// plannedTool is one that can say what it would change.
type plannedTool struct {
	*contractTool
	plan func(context.Context, *Deps, *tool.Call) (*tool.Plan, error)
}

// outcome is what a call came to.
type outcome struct {
	// data is the contract's object.
	data      any
	files     []string
	artifacts []tool.Artifact
	truncated bool
	about     map[string]any
}

// Definition implements tool.Tool.
func (t *contractTool) Definition() *tool.Definition { return t.definition }

// Call implements tool.Tool. Failures are results too, with Failed set.
func (t *contractTool) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	out, err := t.attempt(ctx, call)
	if isQuestion(err) {
		return nil, err
	}
	if err != nil {
		return failed(t.definition.Name, err), nil
	}
	r := tool.JSON(out.data)
	r.FilesAffected, r.Artifacts, r.Truncated, r.Metadata = out.files, out.artifacts, out.truncated, out.about
	return r, nil
}

func (t *contractTool) attempt(ctx context.Context, call *tool.Call) (*outcome, error) {
	deps, err := t.ready()
	if err != nil {
		return nil, err
	}
	ctx, deps.Workspace = undo.ForCall(ctx, deps.Workspace, call)
	return t.work(ctx, deps, call)
}

// ready gives the tool's own copy of what it works with.
func (t *contractTool) ready() (*Deps, error) {
	if t.deps.Workspace == nil {
		return nil, contract.NoWorkspace(t.definition.Name)
	}
	deps := *t.deps
	return &deps, nil
}

// RenderError implements tool.ErrorRenderer.
func (t *contractTool) RenderError(_ *tool.Call, err *tool.Error) *tool.Result {
	return failed(t.definition.Name, err)
}

// Plan implements tool.Planner.
func (t *plannedTool) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	deps, err := t.ready()
	if err != nil {
		return nil, err
	}
	return t.plan(ctx, deps, call)
}

// RenderError gives an error that a host made the contract's shape, for calls
// that reach none of the tools.
func RenderError(call *tool.Call, err *tool.Error) *tool.Result { return failed(call.Tool, err) }

// prepare confines a process, and tells at which level.
func (d *Deps) prepare(about *map[string]any) func(*exec.Cmd) error {
	confine := d.Confine.ConfineTelling(d.Workspace.Root(), d.Trees...)
	return func(cmd *exec.Cmd) (err error) {
		*about, err = confine(cmd)
		return err
	}
}

// integer is a number of the contract.
type integer = schema.Integer

func example(description, params string) tool.Example {
	return tool.Example{Description: description, Params: json.RawMessage(params)}
}

func object(s string) json.RawMessage { return json.RawMessage(s) }

// returns is the schema of a result: the object of a success, whose
// properties are given, or that of a failure.
func returns(properties, required string) json.RawMessage {
	return object(`{"type":"object","anyOf":[{"required":[` + required + `]},{"required":["error","error_code"]}],"properties":{` + properties +
		`,"error":{"type":"string","description":"What went wrong."},"error_code":{"type":"string","description":"The kind of failure, for programs."},` +
		`"context":{"type":"object","description":"Facts about it; hint says what to do next."}}}`)
}
