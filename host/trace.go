package host

import "context"

// The parts of a call for Options.Trace: one TraceCall, with the others inside it.
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

// Origin is where a call comes from, for its trace.
type Origin struct {
	// TraceParent, TraceState and Baggage are the caller's, as in the headers of W3C Trace Context and Baggage.
	TraceParent, TraceState, Baggage string
	// Method is the MCP request's, RequestID its id, Session the MCP session's id, Revision the protocol's
	// version, and Transport "pipe" or "tcp".
	Method, RequestID, Session, Revision, Transport string
}

type originKey struct{}

func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns WithOrigin's origin.
func OriginOf(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}
