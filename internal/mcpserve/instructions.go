package mcpserve

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxInstructions is how much of its instructions a server sends, in
// characters; clients cut what is longer.
const MaxInstructions = 2048

// instruct puts the instructions of the moment into the answers that begin a
// session, or describe the server without one.
func (s *Server) instruct(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, request)
		if err != nil || s.options.Instructions == nil {
			return result, err
		}
		switch result := result.(type) {
		case *mcp.InitializeResult:
			result.Instructions = s.instructions(ctx)
		case *mcp.DiscoverResult:
			result.Instructions = s.instructions(ctx)
		}
		return result, nil
	}
}

func (s *Server) instructions(ctx context.Context) string {
	const mark = "..."
	text := []rune(s.options.Instructions(ctx))
	if len(text) > MaxInstructions {
		return string(text[:MaxInstructions-len(mark)]) + mark
	}
	return string(text)
}
