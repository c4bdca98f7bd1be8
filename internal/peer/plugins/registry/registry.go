// Package registry keeps tools by name, in one process: to register them, look
// them up, list their definitions and call them, with parameters checked as a
// host checks them. A program that offers toolhost tools to a model by itself
// uses it, and so do tests. [Parameter] describes parameters without writing
// JSON Schema.
package registry

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/export"
)

// Registry is a set of tools. The zero value is empty and ready. It may be
// used by several goroutines.
type Registry struct {
	mu    sync.RWMutex
	names []string // in order of registration
	tools map[string]entry
}

type entry struct {
	tool   tool.Tool
	schema func() (*schema.Schema, error)
}

// Register adds tools. Errors: already_exists for a name that is taken,
// invalid_argument for a tool without a name. Of the given tools those before
// the faulty one stay registered.
func (r *Registry) Register(tools ...tool.Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tools {
		d := t.Definition()
		if d.Name == "" {
			return tool.Errorf(tool.InvalidArgument,
				"a tool without a name cannot be registered").Suggest("Set Name in its definition.")
		}
		if _, taken := r.tools[d.Name]; taken {
			return tool.Errorf(tool.AlreadyExists, "there is a tool %q already",
				d.Name).Suggest("Give one of them another name.")
		}
		if r.tools == nil {
			r.tools = make(map[string]entry)
		}
		r.names = append(r.names, d.Name)
		r.tools[d.Name] = entry{t,
			sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(d.Parameters) })}
	}
	return nil
}

// Get gives the tool of a name, and false when there is none.
func (r *Registry) Get(name string) (tool.Tool, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	e, ok := r.tools[name]
	return e.tool, ok
}

// Names lists the tools in the order in which they were registered.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.names)
}

// Definitions lists the definitions in the order of Names.
func (r *Registry) Definitions() []*tool.Definition {
	r.mu.RLock()
	defer r.mu.RUnlock()
	defs := make([]*tool.Definition, len(r.names))
	for i, name := range r.names {
		defs[i] = r.tools[name].tool.Definition()
	}
	return defs
}

// Export gives the definitions in the form that a model API takes.
func (r *Registry) Export(format export.Format) ([]byte, error) {
	return export.Definitions(format, r.Definitions())
}

// Execute calls a tool by name. Params is any value that marshals to a JSON
// object, such as a map; nil is none. Defaults are filled in. call carries the
// rest of what the tool sees, such as the workspace and the host's services,
// and may be nil; its Tool and Params are set here.
//
// Errors: not_found for an unknown name, invalid_argument for parameters that
// the schema refuses, and what the tool returns. A tool of a fixed contract
// gives such errors as its own result.
func (r *Registry) Execute(ctx context.Context, name string, params any, call *tool.Call) (*tool.Result, error) {
	r.mu.RLock()
	e, ok := r.tools[name]
	r.mu.RUnlock()
	if !ok {
		return nil, tool.Errorf(tool.NotFound, "there is no tool named %q", name).
			Suggest("There are: %s.", strings.Join(r.Names(), ", "))
	}
	c := tool.Call{}
	if call != nil {
		c = *call
	}
	c.Tool = name
	if err := e.decode(&c, params); err != nil {
		if own, ok := e.tool.(tool.ErrorRenderer); ok {
			return own.RenderError(&c, err), nil
		}
		return nil, err
	}
	return e.tool.Call(ctx, &c)
}

// decode sets the call's parameters.
func (e entry) decode(c *tool.Call, params any) *tool.Error {
	s, err := e.schema()
	if err != nil {
		return tool.Errorf(tool.Unavailable, "the tool %q has a broken parameter schema: %w", c.Tool,
			err).Suggest("Tell its author.")
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return tool.Errorf(tool.InvalidArgument, "the parameters of %s are no JSON: %w", c.Tool,
			err).Suggest("Give a map of plain values.")
	}
	if n, ok := e.tool.(tool.Normalizer); ok {
		raw = n.Normalize(raw)
	}
	raw, _, violations := s.Decode(raw)
	if len(violations) > 0 {
		texts := make([]string, len(violations))
		for i, v := range violations {
			texts[i] = v.String()
		}
		return tool.Errorf(tool.InvalidArgument, "invalid parameters for %s: %s", c.Tool, strings.Join(texts, "; ")).
			Suggest("Fix every parameter named and call again.").With("violations", violations)
	}
	c.Params = raw
	return nil
}
