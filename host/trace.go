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

type traceParentKey struct{}

// WithTraceParent gives a context for a call that belongs to a caller's trace,
// named as the header traceparent of W3C Trace Context names it.
func WithTraceParent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return context.WithValue(ctx, traceParentKey{}, traceparent)
}

// TraceParent gives what WithTraceParent was given, else "".
func TraceParent(ctx context.Context) string {
	s, _ := ctx.Value(traceParentKey{}).(string)
	return s
}
