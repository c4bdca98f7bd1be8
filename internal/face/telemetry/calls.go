package telemetry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// partKey is the context key of the ID of the part of a call (see host.TraceCall) that is traced.
type partKey struct{}

// partOf returns that ID, 0 if no part is traced.
func partOf(ctx context.Context) uint64 {
	id, _ := ctx.Value(partKey{}).(uint64)
	return id
}

// Tracer returns a function for host.Options.Trace. Arguments and results are sent only if the
// environment asks for them (see ContentAsked) and clean, which removes secrets from them, is not nil.
func (r *Relay) Tracer(clean func(json.RawMessage) json.RawMessage) func(context.Context, string,
	*tool.Call) (context.Context, func(*host.Outcome)) {
	if !ContentAsked() {
		clean = nil
	}
	return func(ctx context.Context, part string, call *tool.Call) (context.Context, func(*host.Outcome)) {
		begin := &Begin{Part: part}
		if part == host.TraceCall {
			o := host.OriginOf(ctx)
			begin = &Begin{Part: part, TraceParent: o.TraceParent, TraceState: o.TraceState, Baggage: o.Baggage,
				Method: o.Method, RPCID: o.RequestID, MCPSession: o.Session, Revision: o.Revision, Transport: o.Transport,
				Tool: call.Tool, Session: call.Session, RequestID: call.RequestID, Step: call.Step}
		}
		id := r.enqueue(Line{Parent: partOf(ctx), Begin: begin})
		return context.WithValue(ctx, partKey{}, id), func(o *host.Outcome) {
			end := new(End)
			if part == host.TraceCall {
				end = endOf(o)
				end.addContent(o, clean)
			}
			r.enqueue(Line{ID: id, End: end})
		}
	}
}

// PartForward is the part in which a gateway forwards a call to a worker.
const PartForward = "forward"

// Forward reports that a call is passed on. It returns the traceparent to send along, and done for the
// end with the error's code, if any.
func (r *Relay) Forward(o host.Origin, tool string) (traceparent string, done func(code string)) {
	if r == nil {
		return "", func(string) {}
	}
	traceparent = childOf(o.TraceParent)
	id := r.enqueue(Line{Begin: &Begin{Part: PartForward, Span: traceparent, TraceParent: o.TraceParent,
		TraceState: o.TraceState, Baggage: o.Baggage, Method: o.Method, Tool: tool}})
	return traceparent, func(code string) { r.enqueue(Line{ID: id, End: &End{Code: code}}) }
}

// childOf returns the traceparent of a new span in parent's trace, or in a new one.
func childOf(parent string) string {
	var random [24]byte
	_, _ = rand.Read(random[:])
	trace, flags := hex.EncodeToString(random[:16]), "01"
	if parts := strings.Split(parent, "-"); len(parts) == 4 && len(parts[1]) == 32 && len(parts[3]) == 2 {
		trace, flags = parts[1], parts[3]
	}
	return "00-" + trace + "-" + hex.EncodeToString(random[16:]) + "-" + flags
}

// mostContent bounds a call's arguments, and its result, in bytes: collectors refuse larger ones.
const mostContent = 64 << 10

// addContent adds the arguments, and a successful call's result.
func (e *End) addContent(o *host.Outcome, clean func(json.RawMessage) json.RawMessage) {
	if clean == nil {
		return
	}
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return truncate.Shorten(string(clean(data)), mostContent)
	}
	e.Arguments = text(o.Given)
	if o.Err == nil && o.Result != nil {
		e.Result = text(map[string]any{"contents": o.Result.Contents, "structured": o.Result.Structured})
	}
}

// endOf returns the end of a call, without its content.
func endOf(o *host.Outcome) *End {
	e := &End{
		Tool: o.Tool, Source: o.Source, Outcome: outcome(o), Duration: o.Duration,
		Decision: string(o.Decision.Action), Rule: o.Decision.Rule, Connections: o.Connections, Refused: o.Refused,
	}
	if o.Err != nil {
		e.Code = string(o.Err.Code)
	}
	if o.Result != nil {
		e.Sandbox, _ = o.Result.Metadata["sandbox"].(string)
	}
	return e
}

// outcome returns the value of End.Outcome.
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

// Note reports an event during the call of ctx, such as a plugin's start. Error texts are left out,
// because they may quote secrets.
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
	r.enqueue(Line{ID: id, Note: note})
}
