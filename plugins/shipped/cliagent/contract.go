package cliagent

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/undo"
	"github.com/toolhost/toolhost/plugins/shipped/internal/contract"
)

// contractTool is one tool of the contract.
type contractTool struct {
	deps       Deps
	definition *tool.Definition
	// accepts is the schema that calls are checked against.
	accepts func() (*schema.Schema, error)
	run     func(context.Context, *contractTool, *tool.Call) (*outcome, error)
}

// plannedTool is one that can say what it would change.
type plannedTool struct {
	*contractTool
	plan func(context.Context, *contractTool, *tool.Call) (*tool.Plan, error)
}

// newTool makes a tool whose parameters are of type P.
func newTool[P any](deps Deps, d *tool.Definition, run func(context.Context, Deps, *tool.Call, P) (*outcome, error)) *contractTool {
	t := &contractTool{deps: deps, definition: d}
	t.accept(d.Parameters)
	t.run = func(ctx context.Context, t *contractTool, call *tool.Call) (*outcome, error) {
		params, err := decode[P](t, call)
		if err != nil {
			return nil, err
		}
		deps := t.deps
		ctx, deps.Workspace = undo.ForCall(ctx, deps.Workspace, call)
		return run(ctx, deps, call, params)
	}
	return t
}

// planned adds a plan to a tool.
func planned[P any](t *contractTool, plan func(context.Context, Deps, P) (*tool.Plan, error)) tool.Tool {
	return &plannedTool{t, func(ctx context.Context, t *contractTool, call *tool.Call) (*tool.Plan, error) {
		params, err := decode[P](t, call)
		if err != nil {
			return nil, err
		}
		return plan(ctx, t.deps, params)
	}}
}

func (t *contractTool) accept(parameters json.RawMessage) {
	t.accepts = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(parameters) })
}

// Definition implements tool.Tool.
func (t *contractTool) Definition() *tool.Definition { return t.definition }

// Call implements tool.Tool. Failures are results too.
func (t *contractTool) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	started := time.Now()
	o, err := t.attempt(ctx, call)
	if err != nil {
		return failed(o, inContract(err), time.Since(started)), nil
	}
	return succeeded(o, time.Since(started)), nil
}

func (t *contractTool) attempt(ctx context.Context, call *tool.Call) (*outcome, error) {
	if err := t.ready(); err != nil {
		return nil, err
	}
	return t.run(ctx, t, call)
}

func (t *contractTool) ready() error {
	if t.deps.Workspace == nil {
		return contract.NoWorkspace(t.definition.Name)
	}
	return nil
}

// RenderError implements tool.ErrorRenderer.
func (t *contractTool) RenderError(_ *tool.Call, err *tool.Error) *tool.Result {
	return failed(nil, inContract(err), 0)
}

// Plan implements tool.Planner.
func (t *plannedTool) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	if err := t.ready(); err != nil {
		return nil, inContract(err)
	}
	p, err := t.plan(ctx, t.contractTool, call)
	if err != nil {
		return nil, inContract(err)
	}
	return p, nil
}

// RenderError gives an error that a host made the contract's shape, for calls
// that reach none of the tools.
func RenderError(_ *tool.Call, err *tool.Error) *tool.Result {
	return failed(nil, inContract(err), 0)
}

func (t *contractTool) nameFor(call *tool.Call) string {
	if call != nil && call.Tool != "" {
		return call.Tool
	}
	return t.definition.Name
}

func decode[P any](t *contractTool, call *tool.Call) (P, error) {
	s, err := t.accepts()
	if err != nil {
		var none P
		return none, fmt.Errorf("the schema of %s: %w", t.definition.Name, err)
	}
	return contract.Decode[P](t.nameFor(call), s, call.Params)
}

// integer is an int in any form that JSON Schema counts as an integer.
type integer = schema.Integer
