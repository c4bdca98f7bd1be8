// Package otlp sends the calls that package telemetry reports to an OpenTelemetry collector over OTLP
// and HTTP, configured by the variables of the OpenTelemetry specification.
//
// Each call is a span "execute_tool NAME", or "tools/call NAME" of kind SERVER if it came in over MCP,
// with the tool, its source, the session, the outcome and the error code. Planning and running are
// child spans; a plugin's events are events on the span. There are no metrics: a collector can derive
// them from spans (spanmetrics connector).
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

// flushTime bounds sending the rest at the end.
const flushTime = 2 * time.Second

// scope names the instrumentation.
const scope = "github.com/toolhost/toolhost/internal/face/telemetry"

// Options configures Serve. Zero values work.
type Options struct {
	// Version is the host's version.
	Version string
	// Complain receives failures to reach the collector. May be nil.
	Complain func(error)
}

// Serve sends what the lines of in report, until in ends. Calls without a parent are children of
// TRACEPARENT's span. The error is for an invalid environment or unreadable lines. Send failures go to
// Complain, which replaces OpenTelemetry's error handler in the whole program.
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

type sender struct {
	traces   *sdktrace.TracerProvider
	complain func(error)
	tracer   trace.Tracer
	parent   context.Context // with the environment's span
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

// close sends the rest. Open spans are left out.
func (s *sender) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	if err := s.traces.Shutdown(ctx); err != nil {
		s.complain(err)
	}
}

// remoteContext returns a context in the caller's trace, by W3C Trace Context and Baggage. It has no
// valid span if the text has none.
func remoteContext(traceparent, tracestate, baggage string) context.Context {
	carrier := propagation.MapCarrier{"traceparent": traceparent, "tracestate": tracestate, "baggage": baggage}
	both := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	return both.Extract(context.Background(), carrier)
}

// namedKey is the context key of the ID for a new span.
type namedKey struct{}

// named returns a context in which a new span gets a traceparent's IDs.
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
