package mcpserve

import (
	"bytes"
	"context"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
)

// anyObject stands for most tools' parameters in the SDK.
var anyObject = &jsonschema.Schema{Type: "object"}

// add adds a tool to the SDK. The SDK decodes and encodes a schema several times to check it, longer
// than the rest of a start, and needs it only for parameters that HTTP headers repeat. So only such
// tools get their schema; all are described when listed.
func (s *Server) add(entry *host.Entry) {
	schema := entry.Tool.Definition().Parameters
	if (bytes.Contains(schema, []byte("x-mcp-header")) || bytes.Contains(schema, []byte(`\u`))) && s.addWhole(entry) {
		return
	}
	s.sdk.AddTool(&mcp.Tool{Name: entry.Name, InputSchema: anyObject}, s.call)
}

// addWhole adds a tool with its schema; false if the SDK panics at it.
func (s *Server) addWhole(entry *host.Entry) (added bool) {
	defer func() {
		if fault := recover(); fault != nil {
			s.options.Logger.Warn("no header is compared with the parameters of a tool", "tool", entry.Name, "error",
				fault)
		}
	}()
	s.sdk.AddTool(describe(entry, ""), s.call)
	return true
}

// awaitListed makes lists of tools wait for Settled: many clients read only the first list.
func (s *Server) awaitListed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if _, ok := request.(*mcp.ListToolsRequest); ok && !s.searching() {
			s.awaitSettled(ctx)
		}
		return next(ctx, method, request)
	}
}

// listWhole makes lists wait for a change under way: the client may have been notified of its first
// part.
func (s *Server) listWhole(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		switch request.(type) {
		case *mcp.ListToolsRequest, *mcp.ListPromptsRequest, *mcp.ListResourcesRequest:
			s.changing.RLock()
			defer s.changing.RUnlock()
		}
		return next(ctx, method, request)
	}
}

// describeListed describes the tools of a list as clients see them, without those removed meanwhile;
// clients are notified.
func (s *Server) describeListed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, request)
		list, ok := result.(*mcp.ListToolsResult)
		if !ok || err != nil {
			return result, err
		}
		revision := ""
		if list, ok := request.(*mcp.ListToolsRequest); ok {
			revision = list.ProtocolVersion()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		described := make([]*mcp.Tool, 0, len(list.Tools))
		for _, t := range list.Tools {
			switch entry, offered := s.offered[t.Name]; {
			case entry != nil:
				described = append(described, describe(entry, revision))
			case offered: // by the server itself
				described = append(described, t)
			}
		}
		list.Tools = described
		return list, nil
	}
}
