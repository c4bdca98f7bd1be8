package mcpserve

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
)

// traced gives a context for a call in the trace that the client names, if it
// does.
func traced(ctx context.Context, request *mcp.CallToolRequest) context.Context {
	parent, _ := request.Params.Meta["traceparent"].(string)
	return host.WithTraceParent(ctx, parent)
}
