// Package otlp sends what package telemetry reports about calls to an OpenTelemetry
// collector, over OTLP and HTTP, configured by the variables of the
// OpenTelemetry specification.
//
// Each call is a span "execute_tool NAME", or "tools/call NAME" of kind SERVER
// where it came in over MCP, with the tool, its source, the session, the outcome
// and the error code; planning and running are spans in it, and what becomes of a
// plugin meanwhile is an event on it. There are no metrics: a collector makes them of
// spans (its spanmetrics connector).
package otlp

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/internal/face/telemetry"
)

// flushTime bounds the sending of what is left at the end.
const flushTime = 2 * time.Second

// scope names the instrumentation in what is sent.
const scope = "github.com/toolhost/toolhost/internal/face/telemetry"

// Options shape what is sent. Zero values work.
type Options struct {
	// Version is that of the host.
	Version string
	// Complain gets failures to reach the collector. May be nil.
	Complain func(error)
}

// Serve sends what the lines of in report, until in ends. Calls without another parent are children
// of TRACEPARENT's span. The error is for a wrong environment or unreadable lines. Failures to send
// go to Complain; for that it replaces OpenTelemetry's error handler in the whole program.
func Serve(ctx context.Context, in io.Reader, options Options) error {
	if options.Complain == nil {
		options.Complain = func(error) {}
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(options.Complain))
	s, err := newSender(ctx, options)
	if err != nil {
		return err
	}
	err = s.read(in)
	s.close(ctx)
	return err
}

// sender is a running exporter and the spans that have not ended.
type sender struct {
	traces   *sdktrace.TracerProvider
	complain func(error)
	tracer   trace.Tracer
	parent   context.Context // with the span that the environment names
	open     map[uint64]trace.Span
}

func newSender(ctx context.Context, options Options) (*sender, error) {
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "toolhost"),
			attribute.String("service.version", options.Version)),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, err
	}
	spans, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	s := &sender{
		traces: sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithBatcher(spans),
			sdktrace.WithIDGenerator(names{})),
		complain: options.Complain,
		parent:   remoteContext(os.Getenv("TRACEPARENT"), os.Getenv("TRACESTATE"), os.Getenv("BAGGAGE")),
		open:     make(map[uint64]trace.Span),
	}
	s.tracer = s.traces.Tracer(scope)
	return s, nil
}

func (s *sender) read(in io.Reader) error {
	decoder := json.NewDecoder(bufio.NewReader(in))
	for {
		var line telemetry.Line
		err := decoder.Decode(&line)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the host may be killed in mid-line
			return nil
		case err != nil:
			return err
		}
		s.handleLine(line)
	}
}

// close sends what is left. Spans of calls that did not end are left out.
func (s *sender) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := s.traces.Shutdown(ctx); err != nil {
		s.complain(err)
	}
}

// remoteContext is a context in the caller's trace, by W3C Trace Context and Baggage, without a
// valid span if the text has none.
func remoteContext(traceparent, tracestate, baggage string) context.Context {
	carrier := propagation.MapCarrier{"traceparent": traceparent, "tracestate": tracestate, "baggage": baggage}
	both := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	return both.Extract(context.Background(), carrier)
}

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
