package project

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve"
)

// Offers serves toolsets at their own paths, each by a project opened at first use.
type Offers struct {
	ctx     context.Context
	opening *Opening
	serving Serving
	first   *Offer
	named   []string // by the operator; none means those of agent.hcl

	mu   sync.Mutex
	more map[string]*Offer
}

// Further returns further toolsets: the named ones, or those of agent.hcl, served until ctx ends. Close
// the Offers instead of the Offer.
func (o *Offer) Further(ctx context.Context, serving Serving, named ...string) *Offers {
	return &Offers{ctx: ctx, opening: o.opening, serving: serving, first: o, named: named,
		more: make(map[string]*Offer)}
}

// Get returns the server of a toolset.
func (o *Offers) Get(_ context.Context, name string) (*mcpserve.Server, error) {
	known := o.known()
	if !slices.Contains(known, name) {
		next := "MCP is at /mcp."
		if len(known) > 0 {
			next = "These are: " + strings.Join(known, ", ") + "."
		}
		return nil, tool.Errorf(tool.NotFound, "the toolset %q is not offered", name).Suggest("%s", next)
	}
	if len(o.named) > 0 && name == o.named[0] {
		return o.first.Server, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if open := o.more[name]; open != nil {
		return open.Server, nil
	}
	other := *o.opening
	other.Toolset = name
	open, err := other.Offer(o.ctx, o.serving)
	if err != nil {
		return nil, err
	}
	o.more[name] = open
	return open.Server, nil
}

func (o *Offers) known() []string {
	if len(o.named) > 0 {
		return o.named
	}
	var names []string
	for _, set := range o.first.Project.Config().Toolsets {
		names = append(names, set.Name)
	}
	return names
}

// Close closes all projects.
func (o *Offers) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, open := range o.more {
		open.Project.Close()
	}
	o.first.Project.Close()
}
