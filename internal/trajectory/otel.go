package trajectory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/internal/keep/record"
	"github.com/toolhost/toolhost/internal/telemetry"
)

// The messages of OTLP that are written, in its JSON encoding.
type (
	otlpRequest struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []otlpScope `json:"scopeSpans"`
	}
	otlpScope struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans []*otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		ParentID   string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes"`
		Status     *otlpStatus     `json:"status,omitempty"`
	}
	otlpStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message,omitempty"`
	}
	otlpAttribute struct {
		Key   string            `json:"key"`
		Value map[string]string `json:"value"`
	}
)

// Numbers of OTLP.
const (
	kindInternal = 1
	kindServer   = 2
	statusError  = 2
)

// ids makes the ids of a session's spans, the same ones each time, so that a
// session that is exported twice is there once.
type ids struct{ trace, root string }

func newIDs(s Session) ids {
	sum := sha256.Sum256([]byte("toolhost\x00" + s.Workspace + "\x00" + s.Name))
	return ids{hex.EncodeToString(sum[:16]), hex.EncodeToString(sum[16:24])}
}

func (i ids) span(entry int64) string {
	sum := sha256.Sum256([]byte(i.trace + "\x00" + strconv.FormatInt(entry, 10)))
	return hex.EncodeToString(sum[:8])
}

// writeSpans writes a span for the session, and one in it for each call.
func writeSpans(w io.Writer, s Session, calls iter.Seq2[*record.Detail, error]) error {
	ids := newIDs(s)
	root := &otlpSpan{TraceID: ids.trace, SpanID: ids.root, Name: "toolhost session " + s.Name, Kind: kindInternal,
		Attributes: attributes("gen_ai.conversation.id", s.Name)}
	spans := []*otlpSpan{root}
	var first, last time.Time
	err := each(calls, func(c *Call, d *record.Detail) error {
		if first.IsZero() || c.Began.Before(first) {
			first = c.Began
		}
		if c.ended().After(last) {
			last = c.ended()
		}
		span := spanOf(s, c)
		span.TraceID, span.SpanID, span.ParentID = ids.trace, ids.span(d.Entry), ids.root
		spans = append(spans, span)
		return nil
	})
	if err != nil {
		return err
	}
	root.Start, root.End = nano(first), nano(last)
	var resource otlpResource
	resource.Resource.Attributes = attributes("service.name", "toolhost", "service.version", s.Version)
	var scope otlpScope
	scope.Scope.Name, scope.Scope.Version = "github.com/toolhost/toolhost/internal/trajectory", s.Version
	scope.Spans = spans
	resource.ScopeSpans = []otlpScope{scope}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(otlpRequest{[]otlpResource{resource}})
}

// spanOf is the span of a call, without its ids.
func spanOf(s Session, c *Call) *otlpSpan {
	span := &otlpSpan{Name: telemetry.SpanName(c.Method, c.Tool), Kind: kindInternal, Start: nano(c.Began),
		End: nano(c.ended())}
	if c.Method != "" {
		span.Kind = kindServer
	}
	errorType := ""
	if c.failed() {
		errorType = cmp.Or(c.Error, c.Status)
		span.Status = &otlpStatus{Code: statusError, Message: errorType}
	}
	var decision struct{ Action, Rule string }
	_ = json.Unmarshal(c.Decision, &decision)
	var metadata struct{ Sandbox string }
	_ = json.Unmarshal(c.Metadata, &metadata)
	span.Attributes = attributes(
		"gen_ai.operation.name", telemetry.ExecuteTool, "gen_ai.tool.name", c.Tool,
		"gen_ai.tool.type", telemetry.ToolType(c.Source), "gen_ai.tool.call.id", c.ID,
		"gen_ai.conversation.id", s.Name, "error.type", errorType,
		"toolhost.session", s.Name, "toolhost.source", c.Source, "toolhost.outcome", outcome(c),
		"toolhost.client", c.Client, "toolhost.decision", decision.Action, "toolhost.rule", decision.Rule,
		"toolhost.sandbox", metadata.Sandbox, "mcp.method.name", c.Method, "mcp.session.id", c.MCPSession,
		"jsonrpc.request.id", c.RPC, "mcp.protocol.version", c.Revision, "network.transport", c.Transport)
	if s.Content {
		if span.Status != nil {
			span.Status.Message = cmp.Or(c.Message, errorType)
		}
		span.Attributes = append(span.Attributes, attributes("gen_ai.tool.call.arguments", string(c.Params))...)
		if !c.failed() { // the conventions have it where a call was successful
			span.Attributes = append(span.Attributes, attributes("gen_ai.tool.call.result", string(c.Result))...)
		}
	}
	return span
}

// outcome is the word that live spans have for what became of a call.
func outcome(c *Call) string {
	switch c.Status {
	case record.StatusSuccess, record.StatusLost, record.StatusRunning:
		return c.Status
	case record.StatusDryRun:
		return "dry_run"
	case record.StatusAsks:
		return "input_required"
	}
	return "error"
}

// attributes are those of pairs of a key and a text; empty ones are left out.
func attributes(pairs ...string) []otlpAttribute {
	list := []otlpAttribute{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			list = append(list, otlpAttribute{pairs[i], map[string]string{"stringValue": pairs[i+1]}})
		}
	}
	return list
}

func nano(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(t.UnixNano(), 10)
}
