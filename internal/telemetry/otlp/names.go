package otlp

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"
)

// namedKey is the context key of the name that a span is to have.
type namedKey struct{}

// named is a context for a span that has to have the name of a traceparent.
func named(ctx context.Context, traceparent string) context.Context {
	name := trace.SpanContextFromContext(remoteContext(traceparent, "", ""))
	if !name.IsValid() {
		return ctx
	}
	return context.WithValue(ctx, namedKey{}, name)
}

// names gives spans their names.
type names struct{}

// NewIDs implements sdktrace.IDGenerator.
func (names) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if name, ok := ctx.Value(namedKey{}).(trace.SpanContext); ok {
		return name.TraceID(), name.SpanID()
	}
	_, _ = rand.Read(t[:])
	_, _ = rand.Read(s[:])
	return t, s
}

// NewSpanID implements sdktrace.IDGenerator.
func (n names) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, s := n.NewIDs(ctx)
	return s
}
