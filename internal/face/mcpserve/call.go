package mcpserve

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/face/export"
	"github.com/toolhost/toolhost/internal/text/exact"
)

// call serves tools/call. A tool's failure is a result; only protocol violations are errors.
func (s *Server) call(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in := fromCall(request)
	if entry, err := s.host.Catalog().Lookup(in.name); err == nil {
		in.arguments = s.withoutQuirks(ctx, in.name, entry.Tool.Definition(), in.arguments)
	}
	return s.answer(ctx, request, in)
}

// answer is call for in, which may name another tool than the request.
func (s *Server) answer(ctx context.Context, request *mcp.CallToolRequest, in *requestInfo) (*mcp.CallToolResult, error) {
	conn := connOf(ctx)
	ctx, done, err := conn.begin(ctx)
	if err != nil {
		return errorResult(tool.AsError(err)), nil
	}
	defer done()
	outcome, open, err := s.callWithQuestions(withOrigin(ctx, request), conn, in, conn.session.Call)
	t := taskOf(ctx)
	if t != nil && outcome != nil && open == nil {
		t.onEnd(outcome.Unrecorded)
	}
	switch {
	case err != nil:
		return nil, err
	case open != nil:
		return &mcp.CallToolResult{InputRequests: open.requests, RequestState: open.state}, nil
	case t != nil && outcome.Err != nil && outcome.Err.Code == tool.Internal:
		return nil, internalFailure(outcome.Err.Message)
	}
	result := s.result(ctx, conn.session, outcome, request.ProtocolVersion())
	if limit := boundOf(in.client); conn.stdio && limit > 0 && mayExceed(outcome.Result, limit) {
		result = fit(result, limit)
	}
	return result, nil
}

// result converts an outcome for a revision.
func (s *Server) result(ctx context.Context, session *host.Session, outcome *host.Outcome,
	revision string) *mcp.CallToolResult {
	r := outcome.Result
	result := &mcp.CallToolResult{
		IsError:           outcome.Err != nil,
		Content:           append(contents(r.Contents), s.runLinks(session, outcome)...),
		StructuredContent: structured(revision, outcome.Definition, r.Structured),
	}
	once(result, outcome.Definition, r.Structured)
	result.Content = append(result.Content, s.changes(outcome)...)
	return result
}

// changes returns what the call's processes changed, how to undo it, and what of that is not kept.
func (s *Server) changes(outcome *host.Outcome) []mcp.Content {
	told, _ := outcome.Result.Metadata[change.Key].(string)
	if s.options.NoUndo {
		told = change.WithoutUndo(told, outcome.RequestID)
	}
	notKept, _ := outcome.Result.Metadata[change.NotKept].(string)
	if told != "" && notKept != "" {
		told += ". "
	}
	if told += notKept; told == "" {
		return nil
	}
	return []mcp.Content{&mcp.TextContent{Text: told}}
}

func errorResult(err *tool.Error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: contents(host.ErrorResult(err).Contents)}
}

func contents(parts []tool.Content) []mcp.Content {
	out := make([]mcp.Content, 0, len(parts))
	for _, p := range parts {
		out = append(out, content(p))
	}
	return out
}

func content(p tool.Content) mcp.Content {
	x := extrasOf(p.MCP)
	switch p.Kind {
	case tool.KindImage:
		return &mcp.ImageContent{Data: p.Data, MIMEType: p.MIMEType, Meta: x.Meta, Annotations: x.Annotations}
	case tool.KindAudio:
		return &mcp.AudioContent{Data: p.Data, MIMEType: p.MIMEType, Meta: x.Meta, Annotations: x.Annotations}
	case tool.KindResource:
		return &mcp.EmbeddedResource{
			Resource: &mcp.ResourceContents{URI: p.URI, MIMEType: p.MIMEType, Text: p.Text, Blob: p.Data},
			Meta:     x.Meta, Annotations: x.Annotations,
		}
	case tool.KindLink:
		return &mcp.ResourceLink{
			URI: p.URI, Name: p.Name, MIMEType: p.MIMEType, Title: x.Title, Description: x.Description, Size: x.Size,
			Icons: x.Icons,
			Meta:  x.Meta, Annotations: x.Annotations,
		}
	}
	return &mcp.TextContent{Text: p.Text, Meta: x.Meta, Annotations: x.Annotations}
}

// extras are further members of content from an upstream server.
type extras struct {
	Meta        mcp.Meta         `json:"_meta"`
	Annotations *mcp.Annotations `json:"annotations"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Size        *int64           `json:"size"`
	Icons       []mcp.Icon       `json:"icons"`
}

func extrasOf(raw json.RawMessage) (x extras) {
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, &x)
		if x.Meta != nil {
			var plain struct {
				Meta json.RawMessage `json:"_meta"`
			}
			_ = json.Unmarshal(raw, &plain)
			x.Meta, _ = exact.Object(plain.Meta)
		}
	}
	return x
}

var separators = strings.NewReplacer("_", " ", "-", " ")

// title returns the tool's title, or its name in words.
func title(def *tool.Definition) string {
	if def.Title != "" {
		return def.Title
	}
	words := separators.Replace(def.Name)
	return strings.ToUpper(words[:1]) + words[1:]
}

// inputSchema returns the parameter schema, as MCP requires an object schema even without parameters. A
// foreign tool's invalid schema is left out: it would cost clients and model APIs all tools. Our own are
// checked elsewhere.
func inputSchema(entry *host.Entry, def *tool.Definition) json.RawMessage {
	if entry.Foreign() {
		if _, err := entry.Schema(); err != nil {
			return json.RawMessage(`{"type":"object"}`)
		}
	}
	if len(bytes.TrimSpace(def.Parameters)) == 0 {
		return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	return export.ECMA(def.Parameters)
}
