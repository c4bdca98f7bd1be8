package mcpserve

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callStack is a call's stack use, in bytes.
const callStack = 24 << 10

// withStack grows the goroutine's stack while it is nearly empty. Else it grows four times during a
// call, copying each time, a twentieth of a small read's time.
func withStack(next mcp.MethodHandler) mcp.MethodHandler {
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
	var room [callStack]byte
	return room[len(none)]
}

var none string
