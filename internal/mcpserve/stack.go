package mcpserve

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deep is how much stack a call takes, in bytes.
const deep = 24 << 10

// roomy gives the goroutine of a request the stack that a call takes while it has
// next to nothing on it. Else it grows four times under way, each time with a copy of
// what is there, which is a twentieth of a small read.
func roomy(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		grow()
		return next(ctx, method, request)
	}
}

// grow needs a frame of that size. The index is no constant, so that the compiler
// leaves the frame there.
//
//go:noinline
func grow() byte {
	var room [deep]byte
	return room[len(first)]
}

var first string
