// Package agentbench is the plugin of the toolset agentbench: list_files,
// read_file, search, apply_patch and run, whose results are the contract's
// ToolResult object.
package agentbench

import (
	"context"
	"encoding/json"
	"os/exec"
	"time"

	"github.com/toolhost/toolhost/host/search"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/undo"
	"github.com/toolhost/toolhost/host/workspace"
	"github.com/toolhost/toolhost/plugins/shipped/internal/contract"
)

// Version is the plugin's version.
const Version = "1.0.0"

// Limits of the tools.
const (
	listTimeout   = 30 * time.Second
	readTimeout   = 10 * time.Second
	searchTimeout = 60 * time.Second
	patchTimeout  = 10 * time.Second
	// DefaultRunTimeout bounds a command unless the call or Deps say
	// otherwise.
	DefaultRunTimeout = 60 * time.Second
	maxRunTimeout     = 24 * time.Hour
	// grace is how much longer the host waits than the tool itself, so that
	// the tool can answer with what it has.
	grace = 10 * time.Second
)

// Deps is what the tools work with.
type Deps struct {
	// Workspace is where they work. With nil they can be described and not
	// called.
	Workspace *workspace.Workspace
	// Search finds text. Nil means ripgrep where it is installed, and an
	// engine in process otherwise.
	Search *search.Searcher
	// Prepare confines the process of run before it starts, and returns what
	// the result's metadata says of it; its error is answered as
	// sandbox_error. Nil means that there is no sandbox, and run refuses
	// unless Unconfined is set.
	Prepare func(*exec.Cmd) (metadata map[string]any, err error)
	// Denied says what of a failure that Prepare is behind, by what the command
	// printed. May be nil.
	Denied func(printed string) string
	// Unconfined lets run work without a sandbox, as the operator's choice.
	Unconfined bool
	// RunTimeout bounds a command whose call names no timeout. Zero means
	// DefaultRunTimeout.
	RunTimeout time.Duration

	patching chan struct{} // holds one, while a patch is applied
}

// New makes the five tools.
func New(deps Deps) []tool.Tool {
	if deps.RunTimeout <= 0 {
		deps.RunTimeout = DefaultRunTimeout
	}
	if deps.Search == nil && deps.Workspace != nil {
		deps.Search = search.New(deps.Workspace, search.Options{})
	}
	deps.patching = make(chan struct{}, 1)
	return []tool.Tool{listFiles(&deps), readFile(&deps), searchTool(&deps), applyPatch(&deps), run(&deps)}
}

// benchTool is a tool of the contract.
type benchTool struct {
	deps       *Deps
	definition *tool.Definition
	limit      time.Duration
	// work does the call under the tool's own time limit.
	work func(context.Context, *Deps, *tool.Call) (*outcome, error)
}

// outcome is what a call came to, before it is put into the envelope.
type outcome struct {
	// data is the tool's own part, nil for none.
	data any
	// failed is set when the call failed although there is more to tell.
	failed *failure
	// exitCode, stdout and stderr are for run only.
	exitCode       *int
	stdout, stderr *string
	files          []string
	artifacts      []tool.Artifact
	truncated      bool
	metadata       map[string]any
}

// Definition implements tool.Tool.
func (t *benchTool) Definition() *tool.Definition { return t.definition }

// Call implements tool.Tool. Failures are results too, with Failed set.
func (t *benchTool) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	started := time.Now()
	out, err := t.try(ctx, call)
	if err != nil {
		out = &outcome{failed: t.explain(err)}
	}
	return t.seal(call, out, started, time.Now()), nil
}

func (t *benchTool) try(ctx context.Context, call *tool.Call) (*outcome, error) {
	if t.deps.Workspace == nil {
		return nil, contract.NoWorkspace(t.definition.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	deps := *t.deps
	ctx, deps.Workspace = undo.ForCall(ctx, deps.Workspace, call)
	return t.work(ctx, &deps, call)
}

// Normalize implements tool.Normalizer: a null stands for a parameter that is
// left out.
func (t *benchTool) Normalize(params json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(params, &fields) != nil || fields == nil {
		return params
	}
	found := false
	for name, value := range fields {
		if string(value) == "null" {
			delete(fields, name)
			found = true
		}
	}
	if !found {
		return params
	}
	return tool.MustMarshal(fields)
}

func example(description, params string) tool.Example {
	return tool.Example{Description: description, Params: json.RawMessage(params)}
}
