package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/undo"
	"github.com/toolhost/toolhost/host/workspace"
)

// Contract is how the tools of a toolset speak. D is what they work with, O is
// what a call comes to. Only Definitions, Workspace and Success are required.
type Contract[D, O any] struct {
	// Definitions are what the tools say of themselves, by name.
	Definitions map[string]*tool.Definition
	// Workspace is where D keeps the workspace. A tool without one can be
	// described and not called.
	Workspace func(*D) **workspace.Workspace
	// Strict checks the parameters against what Accepts gives for a tool, or
	// else its Parameters, also where no host has done so.
	Strict  bool
	Accepts func(*tool.Definition) json.RawMessage
	// Given takes out of the parameters what Normalize has put there beside
	// them. Nil leaves them.
	Given func(json.RawMessage) json.RawMessage
	// Ready refuses a call before its parameters are looked at. May be nil.
	Ready func(D, *tool.Definition) error
	// Limit bounds a call of a tool; zero, or a nil Limit, does not.
	Limit func(*tool.Definition) time.Duration
	// Success makes the result of a call that did what it was asked for,
	// Failure that of one that did not, for which O may be its zero value. A nil
	// Failure leaves errors to the host.
	Success func(Call, O) *tool.Result
	Failure func(Call, O, error) *tool.Result
	// Word gives the error of a plan its words. Nil leaves it.
	Word func(error) error
	// Render makes the result of an error that the host made. Nil leaves it to
	// the host.
	Render func(Call, *tool.Error) *tool.Result
	// Normalize is that of tool.Normalizer for the tool of a name. It needs
	// Render. Nil leaves the parameters as they are.
	Normalize func(name string, params json.RawMessage) json.RawMessage
}

// Call is a call of a tool of the toolset.
type Call struct {
	*tool.Call
	// Definition is the tool's own.
	Definition *tool.Definition
	Started    time.Time
}

// Name is what the caller calls the tool.
func (c Call) Name() string {
	if c.Call != nil && c.Tool != "" {
		return c.Tool
	}
	return c.Definition.Name
}

// Defaults is offered by parameters whose defaults are not in the schema that
// a host fills them in from, or that are called without a host.
type Defaults interface{ Default() }

// Run does the work of a call on its decoded parameters, Plan tells what it
// would change.
type (
	Run[D, O, P any] func(context.Context, D, *tool.Call, P) (O, error)
	Plan[D, P any]   func(context.Context, D, P) (*tool.Plan, error)
)

// Tool makes the tool of a name. P are its parameters. plan is nil for tools
// that cannot say beforehand what they would change.
func Tool[D, O, P any](c *Contract[D, O], deps D, name string, run Run[D, O, P], plan Plan[D, P]) tool.Tool {
	return Commander(c, deps, name, run, plan, nil)
}

// Commander is Tool for one that runs a program; command gives its argument
// list. It needs the contract's Render.
func Commander[D, O, P any](
	c *Contract[D, O], deps D, name string, run Run[D, O, P], plan Plan[D, P], command func(P) []string,
) tool.Tool {
	t := &made[D, O, P]{contract: c, deps: deps, definition: c.Definitions[name], run: run, plan: plan, command: command}
	if t.definition == nil || c.Render == nil && (command != nil || c.Normalize != nil) {
		panic(fmt.Sprintf("the tool %s lacks its definition, or its contract Render", name)) // a mistake of the programmer
	}
	t.accepts = sync.OnceValues(func() (*schema.Schema, error) {
		if c.Accepts != nil {
			return schema.Compile(c.Accepts(t.definition))
		}
		return schema.Compile(t.definition.Parameters)
	})
	return t.offered()
}

// made is a tool of the toolset.
type made[D, O, P any] struct {
	contract   *Contract[D, O]
	deps       D
	definition *tool.Definition
	accepts    func() (*schema.Schema, error)
	run        Run[D, O, P]
	plan       Plan[D, P]
	command    func(P) []string
}

// Definition implements tool.Tool.
func (t *made[D, O, P]) Definition() *tool.Definition { return t.definition }

// Call implements tool.Tool. With a contract's Failure, failures are results
// too.
func (t *made[D, O, P]) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	c := Call{call, t.definition, time.Now()}
	o, err := t.attempt(ctx, c)
	switch {
	case err == nil:
		return t.contract.Success(c, o), nil
	case t.contract.Failure == nil, errors.Is(err, tool.ErrInputRequired):
		return nil, err
	}
	return t.contract.Failure(c, o, err), nil
}

func (t *made[D, O, P]) attempt(ctx context.Context, c Call) (o O, err error) {
	if err := t.ready(); err != nil {
		return o, err
	}
	if t.contract.Limit != nil {
		if limit := t.contract.Limit(t.definition); limit > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
			if err := ctx.Err(); err != nil {
				return o, err
			}
		}
	}
	params, err := t.decode(c)
	if err != nil {
		return o, err
	}
	deps := t.deps
	ws := t.contract.Workspace(&deps)
	ctx, *ws = undo.ForCall(ctx, *ws, c.Call)
	return t.run(ctx, deps, c.Call, params)
}

func (t *made[D, O, P]) ready() error {
	deps := t.deps
	if *t.contract.Workspace(&deps) == nil {
		return NoWorkspace(t.definition.Name)
	}
	if t.contract.Ready != nil {
		return t.contract.Ready(deps, t.definition)
	}
	return nil
}

func (t *made[D, O, P]) decode(c Call) (params P, err error) {
	if with, ok := any(&params).(Defaults); ok {
		with.Default()
	}
	if !t.contract.Strict {
		return params, c.Decode(&params)
	}
	s, err := t.accepts()
	if err != nil {
		return params, fmt.Errorf("the schema of %s: %w", t.definition.Name, err)
	}
	given := c.Params
	if t.contract.Given != nil {
		given = t.contract.Given(given)
	}
	return Decode[P](c.Name(), s, given)
}

// offered gives the tool with those interfaces that callers look for to decide
// what to do.
func (t *made[D, O, P]) offered() tool.Tool {
	renders, plans, commands := renderer[D, O, P]{t}, planner[D, O, P]{t}, commander[D, O, P]{t}
	switch {
	case t.contract.Render == nil && t.plan == nil:
		return t
	case t.contract.Render == nil:
		return struct {
			*made[D, O, P]
			planner[D, O, P]
		}{t, plans}
	case t.plan == nil && t.command == nil:
		return struct {
			*made[D, O, P]
			renderer[D, O, P]
		}{t, renders}
	case t.plan == nil:
		return struct {
			*made[D, O, P]
			renderer[D, O, P]
			commander[D, O, P]
		}{t, renders, commands}
	case t.command == nil:
		return struct {
			*made[D, O, P]
			renderer[D, O, P]
			planner[D, O, P]
		}{t, renders, plans}
	}
	return struct {
		*made[D, O, P]
		renderer[D, O, P]
		planner[D, O, P]
		commander[D, O, P]
	}{t, renders, plans, commands}
}

// renderer, planner and commander are parts that a tool is made of.
type (
	renderer[D, O, P any]  struct{ tool *made[D, O, P] }
	planner[D, O, P any]   struct{ tool *made[D, O, P] }
	commander[D, O, P any] struct{ tool *made[D, O, P] }
)

// RenderError implements tool.ErrorRenderer.
func (r renderer[D, O, P]) RenderError(call *tool.Call, err *tool.Error) *tool.Result {
	return r.tool.contract.Render(Call{call, r.tool.definition, time.Now()}, err)
}

// Normalize implements tool.Normalizer.
func (r renderer[D, O, P]) Normalize(params json.RawMessage) json.RawMessage {
	if r.tool.contract.Normalize == nil {
		return params
	}
	return r.tool.contract.Normalize(r.tool.definition.Name, params)
}

// Plan implements tool.Planner.
func (p planner[D, O, P]) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	plan, err := p.tool.planned(ctx, call)
	if err != nil && p.tool.contract.Word != nil {
		return nil, p.tool.contract.Word(err)
	}
	return plan, err
}

func (t *made[D, O, P]) planned(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	if err := t.ready(); err != nil {
		return nil, err
	}
	params, err := t.decode(Call{Call: call, Definition: t.definition})
	if err != nil {
		return nil, err
	}
	return t.plan(ctx, t.deps, params)
}

// CommandLine implements tool.Commander.
func (c commander[D, O, P]) CommandLine(_ context.Context, call *tool.Call) ([]string, error) {
	params, err := c.tool.decode(Call{Call: call, Definition: c.tool.definition})
	if err != nil {
		return nil, err
	}
	return c.tool.command(params), nil
}
