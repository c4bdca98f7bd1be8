package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/store/effects"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// Contract is how a toolset's tools answer. D are their dependencies, O is a call's outcome. Only
// Definitions, Workspace and Success are required.
type Contract[D, O any] struct {
	// Definitions are the tools' definitions, by name.
	Definitions map[string]*tool.Definition
	// Workspace returns D's workspace. Without one a tool can only be described.
	Workspace func(*D) **workspace.Workspace
	// Strict checks the parameters against Accepts, or else the tool's Parameters, also without a host.
	Strict  bool
	Accepts func(*tool.Definition) json.RawMessage
	// Given removes what Normalize added to the parameters. May be nil.
	Given func(json.RawMessage) json.RawMessage
	// Ready refuses a call before its parameters are looked at. May be nil.
	Ready func(D, *tool.Definition) error
	// Limit returns a tool's time limit; zero, or a nil Limit, means none.
	Limit func(*tool.Definition) time.Duration
	// Success makes the result of a successful call, Failure that of a failed one, for which O may
	// be zero. A nil Failure leaves errors to the host.
	Success func(Call, O) *tool.Result
	Failure func(Call, O, error) *tool.Result
	// Word rewords the error of a plan. May be nil.
	Word func(error) error
	// Render makes the result of a host's error. Nil leaves it to the host.
	Render func(Call, *tool.Error) *tool.Result
	// Normalize implements tool.Normalizer for the named tool. It needs Render. May be nil.
	Normalize func(name string, params json.RawMessage) json.RawMessage
}

// Call is a call of a tool of the toolset.
type Call struct {
	*tool.Call
	// Definition is the tool's.
	Definition *tool.Definition
	Started    time.Time
	// Changed are paths that the call's processes changed; if too many, directories.
	Changed []string
}

// Name returns the caller's name of the tool.
func (c Call) Name() string {
	if c.Call != nil && c.Tool != "" {
		return c.Tool
	}
	return c.Definition.Name
}

// Defaults is implemented by parameters with defaults that the schema lacks or that apply
// without a host.
type Defaults interface{ Default() }

// Run does the work of a call. Plan returns what it would change.
type (
	Run[D, O, P any] func(context.Context, D, *tool.Call, P) (O, error)
	Plan[D, P any]   func(context.Context, D, P) (*tool.Plan, error)
)

// Tool returns the named tool. P are its parameters. plan is nil for tools that cannot plan.
func Tool[D, O, P any](c *Contract[D, O], deps D, name string, run Run[D, O, P], plan Plan[D, P]) tool.Tool {
	return Commander(c, deps, name, run, plan, nil)
}

// Commander is Tool for one that runs a program; command returns its arguments. It needs the
// contract's Render.
func Commander[D, O, P any](
	c *Contract[D, O], deps D, name string, run Run[D, O, P], plan Plan[D, P], command func(P) []string,
) tool.Tool {
	return build(c, deps, name,
		calls{reflect.TypeFor[P](), reflect.ValueOf(run), reflect.ValueOf(plan), reflect.ValueOf(command)})
}

// calls are the functions of a tool with its own type of parameters. They are called by reflection:
// code for each type would add half a megabyte to the program.
type calls struct {
	params             reflect.Type
	run, plan, command reflect.Value
}

// build is Commander for parameters of any type.
func build[D, O any](c *Contract[D, O], deps D, name string, f calls) tool.Tool {
	t := &work[D, O]{contract: c, deps: deps, definition: c.Definitions[name]}
	if t.definition == nil || c.Render == nil && (!f.command.IsNil() || c.Normalize != nil) {
		panic(fmt.Sprintf("the tool %s lacks its definition, or its contract Render",
			name)) // a mistake of the programmer
	}
	t.accepts = sync.OnceValues(t.compile)
	t.bound = func(call Call) (func(context.Context, D) (O, error), error) {
		params, err := f.decode(t.source(call))
		return func(ctx context.Context, deps D) (O, error) {
			return results[O](f.run.Call(values(ctx, deps, call.Call, params)))
		}, err
	}
	m := &toolAdapter{definition: t.definition, call: t.call}
	if !f.plan.IsNil() {
		m.plan = func(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
			params, err := f.decode(t.planned(call))
			if err != nil {
				return nil, t.worded(err)
			}
			preview, err := results[*tool.Plan](f.plan.Call(values(ctx, t.deps, params)))
			if err != nil {
				return nil, t.worded(err)
			}
			return preview, nil
		}
	}
	if !f.command.IsNil() {
		m.command = func(call *tool.Call) ([]string, error) {
			params, err := f.decode(t.source(Call{Call: call, Definition: t.definition}))
			if err != nil {
				return nil, err
			}
			return f.command.Call(values(params))[0].Interface().([]string), nil
		}
	}
	if c.Render != nil {
		m.render, m.normalize = t.render, t.normalize
	}
	return m.withInterfaces()
}

// values converts arguments for a call. A reflect.Value stays.
func values(arguments ...any) []reflect.Value {
	list := make([]reflect.Value, len(arguments))
	for i, a := range arguments {
		if v, ok := a.(reflect.Value); ok {
			list[i] = v
			continue
		}
		list[i] = reflect.ValueOf(a)
	}
	return list
}

// results converts the results of a function that returns (T, error).
func results[T any](list []reflect.Value) (T, error) {
	value, _ := list[0].Interface().(T)
	err, _ := list[1].Interface().(error)
	return value, err
}

// work is the part of a tool that does not depend on its parameters' type.
type work[D, O any] struct {
	contract   *Contract[D, O]
	deps       D
	definition *tool.Definition
	accepts    func() (*schema.Schema, error)
	// bound decodes the parameters of a call and returns the function that runs it.
	bound func(Call) (func(context.Context, D) (O, error), error)
}

func (t *work[D, O]) compile() (*schema.Schema, error) {
	if t.contract.Accepts != nil {
		return schema.Compile(t.contract.Accepts(t.definition))
	}
	return schema.Compile(t.definition.Parameters)
}

func (t *work[D, O]) call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	c := Call{Call: call, Definition: t.definition, Started: time.Now()}
	deps := t.deps
	watching := watched(ctx, *t.contract.Workspace(&deps), call)
	var connections *network.Log // nil if the host has one
	if network.From(ctx) == nil {
		connections = new(network.Log)
		ctx = network.With(ctx, connections)
	}
	o, err := t.attempt(effects.With(ctx, watching), c)
	found := changesOf(watching, call)
	found.connect(connections)
	c.Changed = found.files
	switch {
	case err == nil:
		return found.on(t.contract.Success(c, o)), nil
	case errors.Is(err, tool.ErrInputRequired):
		return nil, err
	case t.contract.Failure == nil:
		return nil, found.in(err)
	}
	return found.on(t.contract.Failure(c, o, err)), nil
}

func (t *work[D, O]) attempt(ctx context.Context, c Call) (o O, err error) {
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
	run, err := t.bound(c)
	if err != nil {
		return o, err
	}
	deps := t.deps
	ws := t.contract.Workspace(&deps)
	ctx, *ws = undo.ForCall(ctx, *ws, c.Call)
	return run(ctx, deps)
}

func (t *work[D, O]) ready() error {
	deps := t.deps
	if *t.contract.Workspace(&deps) == nil {
		return NoWorkspace(t.definition.Name)
	}
	if t.contract.Ready != nil {
		return t.contract.Ready(deps, t.definition)
	}
	return nil
}

// planned is source for a plan, which needs a ready tool.
func (t *work[D, O]) planned(call *tool.Call) source {
	s := t.source(Call{Call: call, Definition: t.definition})
	if err := t.ready(); err != nil {
		s.err = err
	}
	return s
}

func (t *work[D, O]) worded(err error) error {
	if t.contract.Word == nil {
		return err
	}
	return t.contract.Word(err)
}

func (t *work[D, O]) render(call *tool.Call, err *tool.Error) *tool.Result {
	return t.contract.Render(Call{Call: call, Definition: t.definition, Started: time.Now()}, err)
}

func (t *work[D, O]) normalize(params json.RawMessage) json.RawMessage {
	if t.contract.Normalize == nil {
		return params
	}
	return t.contract.Normalize(t.definition.Name, params)
}

// source is what parameters are decoded from. It is strict if there is a schema.
type source struct {
	call   Call
	given  json.RawMessage
	schema *schema.Schema
	err    error
}

func (t *work[D, O]) source(call Call) source {
	s := source{call: call, given: call.Params}
	if !t.contract.Strict {
		return s
	}
	if s.schema, s.err = t.accepts(); s.err != nil {
		s.err = fmt.Errorf("the schema of %s: %w", t.definition.Name, s.err)
	}
	if t.contract.Given != nil {
		s.given = t.contract.Given(s.given)
	}
	return s
}

func (f calls) decode(from source) (reflect.Value, error) {
	params := reflect.New(f.params)
	if from.err != nil {
		return params.Elem(), from.err
	}
	if from.schema != nil {
		return params.Elem(), Decode(from.call.Name(), from.schema, from.given, params.Interface())
	}
	if with, ok := params.Interface().(Defaults); ok {
		with.Default()
	}
	return params.Elem(), from.call.Decode(params.Interface())
}
