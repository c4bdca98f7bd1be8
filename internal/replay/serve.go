package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/excerpt"
	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/keep/redact"
	"github.com/toolhost/toolhost/internal/trajectory"
)

// The orders in which calls are answered.
const (
	// Strict answers the calls of the record in their order, and no other.
	Strict = "strict"
	// Any answers with the first call that is the same and was not answered yet.
	Any = "any"
)

// Playback gives the tools of a recorded session: their calls are answered from
// the record. It is a host.Source.
type Playback struct {
	order string
	tools []tool.Tool

	mu    sync.Mutex
	calls []*recorded
}

// recorded is a call that waits to be asked for.
type recorded struct {
	*trajectory.Call
	params any
	spent  bool
}

// NewPlayback makes the tools of a session. Catalog describes them, as far as it
// has tools of these names.
func NewPlayback(r *Recording, catalog *host.Catalog, order string) (*Playback, error) {
	if order != Strict && order != Any {
		return nil, tool.Errorf(tool.InvalidArgument, "there is no order %q", order).Suggest("Use strict or any.")
	}
	p := &Playback{order: order}
	schemas := make(map[string]*schema.Schema)
	for _, c := range r.Calls {
		if len(c.Result) == 0 {
			continue // there was no answer
		}
		if _, known := schemas[c.Tool]; !known {
			def := describe(catalog, c.Tool)
			schemas[c.Tool] = new(schema.Schema)
			if s, err := schema.Compile(def.Parameters); err == nil {
				schemas[c.Tool] = s
			}
			p.tools = append(p.tools, &played{p, def})
		}
		params := c.Params
		if decoded, _, violations := schemas[c.Tool].Decode(params); len(violations) == 0 {
			params = decoded // with its defaults, as calls have them
		}
		p.calls = append(p.calls, &recorded{Call: c, params: value(params)})
	}
	if len(p.calls) == 0 {
		return nil, tool.Errorf(tool.NotFound, "no call of session %s has a result in the record", r.Session).
			Suggest("`toolhost events --sessions` lists the sessions.")
	}
	return p, nil
}

// describe is what a tool says of itself now, or that it is no more.
func describe(catalog *host.Catalog, name string) *tool.Definition {
	if entry, err := catalog.Lookup(name); err == nil {
		def := *entry.Definition()
		def.Name = name
		return &def
	}
	return &tool.Definition{Name: name, Risk: tool.ReadOnly,
		Description: "A tool of a recorded session, which there is not any more. Returns: what is in the record.",
		Parameters:  json.RawMessage(`{"type":"object"}`)}
}

// Name implements host.Source.
func (p *Playback) Name() string { return "record" }

// Tools implements host.Source.
func (p *Playback) Tools(context.Context) ([]tool.Tool, error) { return p.tools, nil }

// Left is how many calls were not asked for.
func (p *Playback) Left() (left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.calls {
		if !c.spent {
			left++
		}
	}
	return left
}

// take finds the call that is meant.
func (p *Playback) take(name string, params any) (*trajectory.Call, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, c := range p.calls {
		switch {
		case c.spent:
			continue
		case c.Tool == name && matches(c.params, params):
			c.spent = true
			return c.Call, nil
		case p.order == Strict:
			return nil, tool.Errorf(tool.Conflict, "call %d of the record is %s %s, not %s %s", i+1, c.Tool,
				shortly(c.params), name, shortly(params)).
				Suggest("Make the calls of the record in their order, or answer them in any order: --order any.")
		}
	}
	return nil, tool.Errorf(tool.NotFound, "the record has no call %s %s that was not answered yet", name,
		shortly(params)).Suggest("`toolhost export SESSION` shows the calls of the record.")
}

// matches reports whether a value is the recorded one. What was redacted may be
// anything.
func matches(was, is any) bool {
	switch was := was.(type) {
	case string:
		text, ok := is.(string)
		return strings.Contains(was, redact.Mark) || ok && was == text
	case []any:
		list, ok := is.([]any)
		if !ok || len(list) != len(was) {
			return false
		}
		for i := range was {
			if !matches(was[i], list[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		object, ok := is.(map[string]any)
		if !ok || len(object) != len(was) {
			return false
		}
		for name := range was {
			if member, ok := object[name]; !ok || !matches(was[name], member) {
				return false
			}
		}
		return true
	}
	return was == is
}

func value(params json.RawMessage) any {
	var v any
	if json.Unmarshal(params, &v) != nil {
		return string(params)
	}
	return v
}

func shortly(params any) string {
	text, err := json.Marshal(params)
	if err != nil {
		text = fmt.Append(nil, params)
	}
	return excerpt.Shorten(string(text), 200)
}

// played is a tool that answers from the record.
type played struct {
	from *Playback
	def  *tool.Definition
}

// Definition implements tool.Tool.
func (t *played) Definition() *tool.Definition { return t.def }

// Call implements tool.Tool.
func (t *played) Call(_ context.Context, call *tool.Call) (*tool.Result, error) {
	c, err := t.from.take(t.def.Name, value(call.Params))
	if err != nil {
		return nil, err
	}
	result := new(tool.Result)
	if err := json.Unmarshal(c.Result, result); err != nil {
		return nil, tool.Errorf(tool.Internal, "the result of the call %s cannot be read: %w", c.ID, err).
			Suggest("`toolhost record verify` says what was changed in the record.")
	}
	result.FilesAffected = c.Files
	if c.Status != record.StatusSuccess {
		result.Failed = tool.Errorf(tool.Code(c.Error), "%s", c.Message)
	}
	return result, nil
}
