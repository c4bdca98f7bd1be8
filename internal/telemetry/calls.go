package telemetry

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// partKey is the context key of the number of the part that is under way.
type partKey struct{}

func partOf(ctx context.Context) uint64 {
	id, _ := ctx.Value(partKey{}).(uint64)
	return id
}

// Trace fits host.Options.Trace.
func (r *Relay) Trace(ctx context.Context, part string, call *tool.Call) (context.Context, func(*host.Outcome)) {
	begin := &Begin{Part: part}
	if part == host.TraceCall {
		*begin = Begin{
			Part: part, TraceParent: host.TraceParent(ctx),
			Tool: call.Tool, Session: call.Session, RequestID: call.RequestID, Step: call.Step,
		}
	}
	id := r.tell(Line{Parent: partOf(ctx), Begin: begin})
	return context.WithValue(ctx, partKey{}, id), func(o *host.Outcome) {
		end := new(End)
		if part == host.TraceCall {
			end = ended(o)
		}
		r.tell(Line{ID: id, End: end})
	}
}

func ended(o *host.Outcome) *End {
	e := &End{
		Tool: o.Tool, Source: o.Source, Outcome: outcome(o), Duration: o.Duration,
		Decision: string(o.Decision.Action), Rule: o.Decision.Rule,
	}
	if o.Err != nil {
		e.Code = string(o.Err.Code)
	}
	if o.Result != nil {
		e.Sandbox, _ = o.Result.Metadata["sandbox"].(string)
	}
	return e
}

// outcome says in a word what became of a call.
func outcome(o *host.Outcome) string {
	switch {
	case o.Err != nil:
		return "error"
	case o.Input != nil:
		return "input_required"
	case o.Result == nil:
		return "dry_run"
	}
	return "success"
}

// Note reports something that happened during the call of ctx, such as a
// plugin's start. Texts of errors are left out: they may quote anything.
func (r *Relay) Note(ctx context.Context, event string, details map[string]any) {
	id := partOf(ctx)
	if r == nil || id == 0 {
		return
	}
	note := &Note{Event: event, Details: make(map[string]string)}
	for name, value := range details {
		if name != "error" {
			note.Details[name] = fmt.Sprint(value)
		}
	}
	r.tell(Line{ID: id, Note: note})
}
