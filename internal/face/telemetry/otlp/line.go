package otlp

import (
	"context"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/internal/face/telemetry"
)

func (s *sender) handleLine(line telemetry.Line) {
	switch {
	case line.Begin != nil:
		s.begin(line)
	case line.End != nil:
		s.end(line)
	case line.Note != nil:
		s.addEvent(line)
	}
}

func (s *sender) begin(line telemetry.Line) {
	b, name, ctx := line.Begin, line.Begin.Part, context.Background()
	if parent := s.open[line.Parent]; parent != nil {
		ctx = trace.ContextWithSpan(ctx, parent)
	} else if remote := remoteContext(b.TraceParent, b.TraceState,
		b.Baggage); trace.SpanContextFromContext(remote).IsValid() {
		ctx = remote
	} else {
		ctx = baggage.ContextWithBaggage(s.parent, baggage.FromContext(remote))
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(line.At)}
	switch {
	case b.Part == telemetry.PartForward:
		ctx = named(ctx, b.Span)
		name = strings.TrimSpace("gateway " + telemetry.SpanName(b.Method, b.Tool))
		options = append(options, trace.WithSpanKind(trace.SpanKindServer),
			trace.WithAttributes(given("gen_ai.tool.name", b.Tool, "mcp.method.name", b.Method)...))
	case b.Tool != "":
		name = telemetry.SpanName(b.Method, b.Tool)
		options = append(options, trace.WithAttributes(callAttributes(b)...), trace.WithAttributes(s.carried(ctx)...))
		if b.Method != "" {
			options = append(options, trace.WithSpanKind(trace.SpanKindServer))
		}
	}
	_, s.open[line.ID] = s.tracer.Start(ctx, name, options...)
}

func callAttributes(b *telemetry.Begin) []attribute.KeyValue {
	attrs := []attribute.KeyValue{
		attribute.String("gen_ai.operation.name", telemetry.ExecuteTool),
		attribute.String("gen_ai.tool.name", b.Tool),
		attribute.String("gen_ai.tool.call.id", b.RequestID),
		attribute.String("toolhost.session", b.Session),
		attribute.Int("toolhost.step", b.Step),
	}
	return append(attrs, given("mcp.method.name", b.Method, "mcp.session.id", b.MCPSession,
		"jsonrpc.request.id", b.RPCID, "mcp.protocol.version", b.Revision, "network.transport", b.Transport)...)
}

// carried returns the caller's baggage, which may have personal data: it is sent only if the
// environment asks for contents.
func (s *sender) carried(ctx context.Context) (attrs []attribute.KeyValue) {
	if !telemetry.ContentAsked() {
		return nil
	}
	for _, m := range baggage.FromContext(ctx).Members() {
		attrs = append(attrs, attribute.String("baggage."+m.Key(), m.Value()))
	}
	return attrs
}

// given returns attributes of pairs of key and text, without empty ones.
func given(pairs ...string) (attrs []attribute.KeyValue) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			attrs = append(attrs, attribute.String(pairs[i], pairs[i+1]))
		}
	}
	return attrs
}

func (s *sender) end(line telemetry.Line) {
	e, span := line.End, s.open[line.ID]
	if span == nil {
		return // its beginning was dropped
	}
	delete(s.open, line.ID)
	defer span.End(trace.WithTimestamp(line.At))
	if e.Outcome == "" {
		if e.Code != "" {
			span.SetStatus(codes.Error, e.Code)
			span.SetAttributes(attribute.String("error.type", e.Code))
		}
		return
	}
	attrs := []attribute.KeyValue{attribute.String("toolhost.source", e.Source),
		attribute.String("toolhost.outcome", e.Outcome)}
	if e.Code != "" {
		attrs = append(attrs, attribute.String("error.type", e.Code))
		span.SetStatus(codes.Error, e.Code)
	}
	if e.Connections > 0 {
		attrs = append(attrs, attribute.Int("toolhost.connections", e.Connections), attribute.Int("toolhost.connections.refused", e.Refused))
	}
	span.SetAttributes(append(attrs, given("gen_ai.tool.type", telemetry.ToolType(e.Source),
		"toolhost.decision", e.Decision, "toolhost.rule", e.Rule, "toolhost.sandbox", e.Sandbox,
		"gen_ai.tool.call.arguments", e.Arguments, "gen_ai.tool.call.result", e.Result)...)...)
}

func (s *sender) addEvent(line telemetry.Line) {
	span := s.open[line.ID]
	if span == nil {
		return
	}
	var attrs []attribute.KeyValue
	for _, name := range slices.Sorted(maps.Keys(line.Note.Details)) {
		attrs = append(attrs, attribute.String(name, line.Note.Details[name]))
	}
	span.AddEvent(line.Note.Event, trace.WithTimestamp(line.At), trace.WithAttributes(attrs...))
}
