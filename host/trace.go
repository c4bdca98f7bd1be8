package host

import "context"

// The parts of a call that Options.Trace is told about. A call has one TraceCall,
// with the others inside it where they take place.
const (
	TraceCall = "call"
	TracePlan = "plan"
	TraceRun  = "run"
)

// trace reports the beginning of a part of the call, and done its end.
func (c *call) trace(ctx context.Context, part string) (_ context.Context, done func()) {
	begin := c.host.options.Trace
	if begin == nil {
		return ctx, func() {}
	}
	ctx, end := begin(ctx, part, &c.tool)
	return ctx, func() { end(&c.outcome) }
}

// Origin says where a call comes from, for its trace.
type Origin struct {
	// TraceParent, TraceState and Baggage name the caller's trace, as the
	// headers of the W3C's recommendations of these names do.
	TraceParent, TraceState, Baggage string
	// Method is the method of the MCP request that asks for the call, RequestID
	// that request's id, Session the id of the MCP session, Revision the
	// version of the protocol, and Transport "pipe" or "tcp".
	Method, RequestID, Session, Revision, Transport string
}

type originKey struct{}

// WithOrigin gives a context for a call that comes from there.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf gives what WithOrigin was given.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}
