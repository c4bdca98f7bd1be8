package mcpserve

//lint:file-ignore SA1019 Clients that still have logging are served.

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkOptions declares the server's capabilities. Older revisions read them once, at the start, so
// prompts, subscriptions and completion, which may come later, are always declared.
func (s *Server) sdkOptions() *mcp.ServerOptions {
	return &mcp.ServerOptions{
		Logger:       sdkLog(s.options.Logger),
		GetSessionID: s.options.SessionID,
		Capabilities: &mcp.ServerCapabilities{
			Tools:       &mcp.ToolCapabilities{ListChanged: true},
			Prompts:     &mcp.PromptCapabilities{ListChanged: true},
			Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
			Completions: &mcp.CompletionCapabilities{},
			Logging:     &mcp.LoggingCapabilities{},
			Extensions:  map[string]any{tasksExtension: map[string]any{}},
		},
		SubscribeHandler:   s.subscribe,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler:  s.complete,
		PageSize:           1000,
	}
}
