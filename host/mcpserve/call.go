package mcpserve

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
)

// call serves tools/call. Whatever the tool does is a result; only a broken
// protocol is an error.
func (s *Server) call(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return s.answer(ctx, request, fromCall(request))
}

// answer is call for what was asked for, which may be another tool than the
// one that the request names.
func (s *Server) answer(ctx context.Context, request *mcp.CallToolRequest, in *inquiry) (*mcp.CallToolResult, error) {
	link := linkOf(ctx)
	ctx, done, err := link.begin(ctx)
	if err != nil {
		return errorResult(tool.AsError(err)), nil
	}
	defer done()
	outcome, open, err := s.converse(traced(ctx, request), link, in, link.session.Call)
	switch {
	case err != nil:
		return nil, err
	case open != nil:
		return &mcp.CallToolResult{InputRequests: open.requests, RequestState: open.state}, nil
	}
	return s.result(link, outcome), nil
}

// result turns an outcome into MCP's form.
func (s *Server) result(link *link, outcome *host.Outcome) *mcp.CallToolResult {
	r := outcome.Result
	out := &mcp.CallToolResult{IsError: outcome.Err != nil, Content: append(contents(r.Contents), s.runLinks(link, outcome)...)}
	if len(r.Structured) > 0 {
		out.StructuredContent = r.Structured
	}
	return out
}

func errorResult(err *tool.Error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: contents(host.ErrorResult(err).Contents)}
}

func contents(parts []tool.Content) []mcp.Content {
	out := make([]mcp.Content, 0, len(parts))
	for _, p := range parts {
		switch p.Kind {
		case tool.KindImage:
			out = append(out, &mcp.ImageContent{Data: p.Data, MIMEType: p.MIMEType})
		case tool.KindAudio:
			out = append(out, &mcp.AudioContent{Data: p.Data, MIMEType: p.MIMEType})
		case tool.KindResource:
			out = append(out, &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: p.URI, MIMEType: p.MIMEType, Text: p.Text, Blob: p.Data}})
		case tool.KindLink:
			out = append(out, &mcp.ResourceLink{URI: p.URI, Name: p.Name, MIMEType: p.MIMEType})
		default:
			out = append(out, textContent(p.Text))
		}
	}
	return out
}

// textContent is a text as MCP content.
func textContent(text string) mcp.Content { return &mcp.TextContent{Text: text} }

// title is what a person sees: the tool's own title, or its name in words.
func title(def *tool.Definition) string {
	if def.Title != "" {
		return def.Title
	}
	words := strings.NewReplacer("_", " ", "-", " ").Replace(def.Name)
	return strings.ToUpper(words[:1]) + words[1:]
}

// inputSchema is the parameter schema; a tool without parameters has an
// object schema all the same, which MCP requires.
func inputSchema(def *tool.Definition) json.RawMessage {
	if len(bytes.TrimSpace(def.Parameters)) == 0 {
		return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	return def.Parameters
}
