package mcpserve

//lint:file-ignore SA1019 Clients that still have logging are served.

import "github.com/modelcontextprotocol/go-sdk/mcp"

// sdkOptions say what the server can do: no more than there is use for.
func (s *Server) sdkOptions() *mcp.ServerOptions {
	o := &mcp.ServerOptions{
		Instructions: s.options.Instructions,
		Logger:       sdkLog(s.options.Logger),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}, Logging: &mcp.LoggingCapabilities{}},
		PageSize:     1000,
	}
	catalog := s.host.Catalog()
	if len(catalog.Resources()) > 0 {
		o.SubscribeHandler, o.UnsubscribeHandler = s.subscribe, s.unsubscribe
	}
	if len(catalog.Resources())+len(catalog.Prompts()) > 0 {
		o.CompletionHandler = s.complete
	}
	return o
}
