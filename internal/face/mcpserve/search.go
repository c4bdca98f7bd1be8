package mcpserve

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/mcpserve/rank"
	"github.com/toolhost/toolhost/internal/source/toolspec"
)

// A long list of tools costs a model attention and context. Instead three tools can be offered that
// find, describe and call the others. Policy, approval and record are the called tool's.

func (s *Server) searching() bool {
	return s.options.Search || s.host.Catalog().Toolset().Search
}

// searchTool is one of the three.
type searchTool struct {
	def    *tool.Definition
	handle func(*Server, context.Context, *mcp.CallToolRequest, json.RawMessage) (*mcp.CallToolResult, error)
}

//go:embed tools
var definitionFiles embed.FS

var searchTools = sync.OnceValue(func() []searchTool {
	d := toolspec.Read(definitionFiles, nil)
	return []searchTool{
		{d["search_tools"], (*Server).searchTools},
		{d["describe_tool"], (*Server).describeTool},
		{d["call_tool"], (*Server).callTool},
	}
})

func (t searchTool) entry() *host.Entry { return &host.Entry{Name: t.def.Name, Tool: t} }

// Definition implements tool.Tool.
func (t searchTool) Definition() *tool.Definition { return t.def }

// Call implements tool.Tool. It fails: the server answers these tools itself.
func (t searchTool) Call(context.Context, *tool.Call) (*tool.Result, error) {
	return nil, tool.Errorf(tool.Unsupported, "%s is a tool of the MCP server", t.def.Name).Suggest("Call it over MCP.")
}

func (t searchTool) handler(s *Server) mcp.ToolHandler {
	return func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		compiled, err := schema.Compile(t.def.Parameters)
		if err != nil {
			return nil, err
		}
		params, _, violations := compiled.Decode(s.withoutQuirks(ctx, t.def.Name, t.def, request.Params.Arguments))
		if len(violations) > 0 {
			return errorResult(tool.Errorf(tool.InvalidArgument, "invalid parameters for %s: %s", t.def.Name,
				violations[0]).
				Suggest("Fix it and call again.")), nil
		}
		return t.handle(s, ctx, request, params)
	}
}

// found is a result of search_tools.
type found struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	Risk        tool.Risk `json:"risk"`
}

func (s *Server) searchTools(ctx context.Context, _ *mcp.CallToolRequest, params json.RawMessage) (*mcp.CallToolResult,
	error) {
	var in struct {
		Query string
		Limit int
	}
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, err
	}
	s.awaitSettled(ctx)
	entries := s.host.Catalog().Entries()
	documents := make([]rank.Document, len(entries))
	for i, e := range entries {
		def := e.Definition()
		documents[i] = rank.Document{Name: def.Name, Text: def.Title + " " + def.Description,
			More: string(def.Parameters)}
	}
	best := rank.Best(in.Query, documents)
	out := struct {
		Tools []found `json:"tools"`
		Total int     `json:"total"`
		Note  string  `json:"note,omitempty"`
	}{Tools: []found{}, Total: len(best)}
	for _, i := range best[:min(len(best), in.Limit)] {
		def := entries[i].Definition()
		out.Tools = append(out.Tools, found{def.Name, def.Description, def.Risk})
	}
	switch {
	case len(best) == 0:
		out.Note = fmt.Sprintf("No tool matches. Use other words, or an empty query to list all %d tools.",
			len(entries))
	case len(best) > in.Limit:
		out.Note = fmt.Sprintf("%d more match: use narrower words or a higher limit.", len(best)-in.Limit)
	}
	return toolResult(tool.JSON(out)), nil
}

func (s *Server) describeTool(ctx context.Context, request *mcp.CallToolRequest,
	params json.RawMessage) (*mcp.CallToolResult, error) {
	var in struct{ Name string }
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, err
	}
	entry, err := s.lookup(ctx, in.Name)
	if err != nil {
		return errorResult(tool.AsError(err)), nil
	}
	return toolResult(tool.JSON(describe(entry, request.ProtocolVersion()))), nil
}

func (s *Server) callTool(ctx context.Context, request *mcp.CallToolRequest,
	params json.RawMessage) (*mcp.CallToolResult, error) {
	var in struct {
		Name      string
		Arguments json.RawMessage
	}
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, err
	}
	_, _ = s.lookup(ctx, in.Name) // calling reports the error
	requestInfo := fromCall(request)
	requestInfo.name, requestInfo.arguments = in.Name, in.Arguments
	return s.answer(ctx, request, requestInfo)
}

func toolResult(r *tool.Result) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: contents(r.Contents), StructuredContent: r.Structured}
}

// unlisted returns why a tool cannot be called by its own name while the search is offered.
func (s *Server) unlisted(ctx context.Context, name string) *tool.Error {
	for _, t := range searchTools() {
		if t.def.Name == name {
			return nil
		}
	}
	if _, err := s.lookup(ctx, name); err != nil {
		return tool.AsError(err).Suggest("search_tools finds the tools there are.")
	}
	return tool.Errorf(tool.NotFound, "%q is not listed", name).
		Suggest("Call it through call_tool: %s",
			strings.TrimSpace(string(tool.MustMarshal(map[string]any{"name": name, "arguments": map[string]any{}}))))
}
