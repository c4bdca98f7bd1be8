package ocode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/undo"
	"github.com/toolhost/toolhost/plugins/sdk/registry"
	"github.com/toolhost/toolhost/plugins/shipped/internal/contract"
)

// spec is what one tool says of itself. Its parameters are of type P.
type spec[P any] struct {
	tool.Definition
	parameters []registry.Parameter
	// facts are the properties of metadata, as members of a JSON Schema.
	facts string
	// aliases are names of version 1.x.
	aliases aliases
	// asks is set for tools that ask for permissions themselves, because not
	// every call needs all of them.
	asks bool
	run  func(context.Context, Deps, *tool.Call, P) (*outcome, error)
	// plan tells what a call would change; nil for tools that cannot.
	plan func(context.Context, Deps, P) (*tool.Plan, error)
}

// contractTool is one tool of the contract.
type contractTool struct {
	deps       Deps
	definition *tool.Definition
	aliases    aliases
	asks       bool
	// accepts is the schema that calls are checked against: what is
	// advertised, and nothing else.
	accepts func() (*schema.Schema, error)
	run     func(context.Context, Deps, *tool.Call) (*outcome, error)
	plan    func(context.Context, *tool.Call) (*tool.Plan, error)
}

// plannedTool is one that can say what it would change.
type plannedTool struct{ *contractTool }

// newTool makes a tool of its spec.
func newTool[P any](deps Deps, s spec[P]) tool.Tool {
	t := &contractTool{deps: deps, definition: &s.Definition, aliases: s.aliases, asks: s.asks}
	t.definition.Parameters = registry.Schema(s.parameters...)
	t.definition.Returns = returns(s.facts)
	t.accepts = sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(registry.Strict(s.parameters...)) })
	t.run = func(ctx context.Context, deps Deps, call *tool.Call) (*outcome, error) {
		params, err := decode[P](t, call)
		if err != nil {
			return nil, err
		}
		return s.run(ctx, deps, call, params)
	}
	if s.plan == nil {
		return t
	}
	t.plan = func(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
		params, err := decode[P](t, call)
		if err != nil {
			return nil, err
		}
		return s.plan(ctx, t.deps, params)
	}
	return &plannedTool{t}
}

// Definition implements tool.Tool.
func (t *contractTool) Definition() *tool.Definition { return t.definition }

// Normalize implements tool.Normalizer.
func (t *contractTool) Normalize(params json.RawMessage) json.RawMessage {
	return t.aliases.normalize(params)
}

// Call implements tool.Tool. Failures are results too.
func (t *contractTool) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	deps := t.deps
	ctx, deps.Workspace = undo.ForCall(ctx, deps.Workspace, call)
	call, renamed := separate(call)
	o, err := t.attempt(ctx, deps, call)
	if errors.Is(err, tool.ErrInputRequired) {
		return nil, err
	}
	if err != nil {
		return failed(o, contract.Worded(err), renamed), nil
	}
	return succeeded(o, renamed), nil
}

func (t *contractTool) attempt(ctx context.Context, deps Deps, call *tool.Call) (*outcome, error) {
	if err := t.ready(); err != nil {
		return nil, err
	}
	return t.run(ctx, deps, call)
}

func (t *contractTool) ready() error {
	if t.deps.Workspace == nil {
		return contract.NoWorkspace(t.definition.Name)
	}
	if t.asks {
		return nil
	}
	return t.deps.require(t.definition.Permissions...)
}

// RenderError implements tool.ErrorRenderer.
func (t *contractTool) RenderError(call *tool.Call, err *tool.Error) *tool.Result {
	return RenderError(call, err)
}

// Plan implements tool.Planner.
func (t *plannedTool) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	call, _ = separate(call)
	if err := t.ready(); err != nil {
		return nil, contract.Worded(err)
	}
	p, err := t.plan(ctx, call)
	if err != nil {
		return nil, contract.Worded(err)
	}
	return p, nil
}

// RenderError gives an error that a host made the contract's shape, for calls
// that reach none of the tools as well.
func RenderError(_ *tool.Call, err *tool.Error) *tool.Result {
	if p, ok := deniedPermission(err); ok {
		err = notGranted(p)
	}
	return failed(nil, contract.Worded(err), nil)
}

// deniedPermission tells that a policy's default for a permission refused a
// call.
func deniedPermission(err *tool.Error) (permission string, ok bool) {
	rule, _ := err.Details["rule"].(string)
	permission, ok = strings.CutPrefix(rule, "permission ")
	return permission, ok && err.Code == tool.Denied
}

func decode[P any](t *contractTool, call *tool.Call) (P, error) {
	s, err := t.accepts()
	if err != nil {
		var none P
		return none, fmt.Errorf("the schema of %s: %w", t.definition.Name, err)
	}
	return contract.Decode[P](t.definition.Name, s, call.Params)
}
