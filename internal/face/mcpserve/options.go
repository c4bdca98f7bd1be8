package mcpserve

//lint:file-ignore SA1019 Clients that still have logging are served.

import "github.com/modelcontextprotocol/go-sdk/mcp"

// sdkOptions say what the server can do. A session of the older revisions is
// told once, when it begins, and what is offered may come later: so prompts,
// subscriptions and completion are declared whether there is a use for them yet
// or not.
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
		UnsubscribeHandler: s.unsubscribe,
		CompletionHandler:  s.complete,
		PageSize:           1000,
	}
}
