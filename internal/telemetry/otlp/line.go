package otlp

import (
	"context"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/internal/telemetry"
)

// unknownTool stands in metrics for names that are no tool's: callers can make
// up any number of them.
const unknownTool = "_unknown"

// take acts on a line.
func (s *sender) take(line telemetry.Line) {
	switch {
	case line.Begin != nil:
		s.begin(line)
	case line.End != nil:
		s.end(line)
	case line.Note != nil:
		s.note(line)
	}
}

func (s *sender) begin(line telemetry.Line) {
	b, name, ctx := line.Begin, line.Begin.Part, context.Background()
	if parent := s.open[line.Parent]; parent != nil {
		ctx = trace.ContextWithSpan(ctx, parent)
	} else if remote := spanContext(b.TraceParent); remote.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, remote)
	} else {
		ctx = trace.ContextWithRemoteSpanContext(ctx, s.parent)
	}
	var attrs []attribute.KeyValue
	if b.Tool != "" {
		name = "execute_tool " + b.Tool
		attrs = []attribute.KeyValue{
			attribute.String("gen_ai.operation.name", "execute_tool"),
			attribute.String("gen_ai.tool.name", b.Tool),
			attribute.String("gen_ai.tool.call.id", b.RequestID),
			attribute.String("toolhost.session", b.Session),
			attribute.Int("toolhost.step", b.Step),
		}
	}
	_, s.open[line.ID] = s.tracer.Start(ctx, name, trace.WithTimestamp(line.At), trace.WithAttributes(attrs...))
}

func (s *sender) end(line telemetry.Line) {
	e, span := line.End, s.open[line.ID]
	if span == nil {
		return // its beginning was dropped
	}
	delete(s.open, line.ID)
	defer span.End(trace.WithTimestamp(line.At))
	if e.Outcome == "" {
		return
	}
	attrs := []attribute.KeyValue{attribute.String("toolhost.source", e.Source),
		attribute.String("toolhost.outcome", e.Outcome)}
	if e.Code != "" {
		attrs = append(attrs, attribute.String("error.type", e.Code))
		span.SetStatus(codes.Error, e.Code)
	}
	s.count(e, attrs)
	for name, value := range map[string]string{"decision": e.Decision, "rule": e.Rule, "sandbox": e.Sandbox} {
		if value != "" {
			attrs = append(attrs, attribute.String("toolhost."+name, value))
		}
	}
	span.SetAttributes(attrs...)
}

func (s *sender) count(e *telemetry.End, attrs []attribute.KeyValue) {
	if e.Outcome == "input_required" {
		return // the call goes on with the answer
	}
	name := e.Tool
	if e.Source == "" {
		name = unknownTool
	}
	set := metric.WithAttributes(append(slices.Clone(attrs), attribute.String("gen_ai.tool.name", name))...)
	ctx := context.Background()
	s.calls.Add(ctx, 1, set)
	s.duration.Record(ctx, e.Duration.Seconds(), set)
	if e.Code != "" {
		s.errors.Add(ctx, 1, set)
	}
}

func (s *sender) note(line telemetry.Line) {
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
