package mcpclient

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// result converts the server's result. raw is the result as the server wrote it, or empty.
func (c *conn) result(name string, r *mcp.CallToolResult, raw json.RawMessage) *tool.Result {
	out := &tool.Result{Contents: contents(r.Content), Structured: structured(r, raw)}
	exactMeta(out.Contents, raw)
	if len(out.Contents) == 0 && len(out.Structured) > 0 { // for callers that read text
		out.Contents = tool.Text(string(out.Structured)).Contents
	}
	if r.IsError {
		message := strings.TrimSpace(out.Text())
		if message == "" {
			message = fmt.Sprintf("%s of the MCP server %s failed and does not say why", name, c.server.spec.Name)
		}
		out.Failed = tool.Errorf(tool.CommandFailed, "%s", message).
			Suggest("The MCP server %s returned this error; change the call accordingly.", c.server.spec.Name)
	}
	return out
}

// structured returns the data as the server wrote it, with its order of keys and all digits.
func structured(r *mcp.CallToolResult, raw json.RawMessage) json.RawMessage {
	if r.StructuredContent == nil {
		return nil
	}
	var exact struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(raw, &exact) == nil && len(exact.Structured) > 0 {
		return exact.Structured
	}
	return tool.MustMarshal(r.StructuredContent)
}

// exactMeta sets each part's _meta as the server wrote it.
func exactMeta(parts []tool.Content, raw json.RawMessage) {
	var exact struct {
		Content []struct {
			Meta json.RawMessage `json:"_meta"`
		} `json:"content"`
	}
	if json.Unmarshal(raw, &exact) != nil || len(exact.Content) != len(parts) {
		return
	}
	for i, piece := range exact.Content {
		var members map[string]json.RawMessage
		if len(piece.Meta) > 0 && json.Unmarshal(parts[i].MCP, &members) == nil && members["_meta"] != nil {
			members["_meta"] = piece.Meta
			parts[i].MCP = tool.MustMarshal(members)
		}
	}
}

func contents(parts []mcp.Content) []tool.Content {
	out := make([]tool.Content, 0, len(parts))
	for _, part := range parts {
		out = append(out, content(part))
	}
	return out
}

func content(part mcp.Content) tool.Content {
	switch p := part.(type) {
	case *mcp.TextContent:
		return tool.Content{Kind: tool.KindText, Text: p.Text,
			MCP: extras{Meta: p.Meta, Annotations: p.Annotations}.raw()}
	case *mcp.ImageContent:
		return tool.Content{Kind: tool.KindImage, Data: p.Data, MIMEType: p.MIMEType,
			MCP: extras{Meta: p.Meta, Annotations: p.Annotations}.raw()}
	case *mcp.AudioContent:
		return tool.Content{Kind: tool.KindAudio, Data: p.Data, MIMEType: p.MIMEType,
			MCP: extras{Meta: p.Meta, Annotations: p.Annotations}.raw()}
	case *mcp.ResourceLink:
		more := extras{Meta: p.Meta, Annotations: p.Annotations, Title: show.SanitizeLine(p.Title, show.MostName),
			Description: show.Sanitize(p.Description, show.MostText), Size: p.Size, Icons: p.Icons}
		return tool.Content{Kind: tool.KindLink, URI: p.URI, Name: p.Name, MIMEType: p.MIMEType, MCP: more.raw()}
	case *mcp.EmbeddedResource:
		if p.Resource != nil {
			made := resource(p.Resource)
			made.MCP = extras{Meta: p.Meta, Annotations: p.Annotations}.raw()
			return made
		}
	}
	return tool.Content{Kind: tool.KindText, Text: string(tool.MustMarshal(part))}
}

// extras are a part's members without a field in tool.Content.
type extras struct {
	Meta        mcp.Meta         `json:"_meta,omitempty"`
	Annotations *mcp.Annotations `json:"annotations,omitempty"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Size        *int64           `json:"size,omitempty"`
	Icons       []mcp.Icon       `json:"icons,omitempty"`
}

// raw returns nil if there are none.
func (x extras) raw() json.RawMessage {
	if raw := tool.MustMarshal(x); len(raw) > len("{}") {
		return raw
	}
	return nil
}

func resource(r *mcp.ResourceContents) tool.Content {
	return tool.Content{Kind: tool.KindResource, URI: r.URI, MIMEType: r.MIMEType, Text: r.Text, Data: r.Blob}
}
