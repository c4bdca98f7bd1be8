package mcpserve

//lint:file-ignore SA1019 Clients that still have logging are served.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/text/truncate"
)

// mostError bounds a protocol error's message and data, in bytes: both repeat parts of the request.
const mostError = 64 << 10

// levels are the log levels of MCP.
var levels = []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// refuseWrong refuses what the SDK accepts, or refuses without a code.
func refuseWrong(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		if p, ok := request.GetParams().(*mcp.SetLoggingLevelParams); ok && p != nil && !slices.Contains(levels, p.Level) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
				Message: fmt.Sprintf("there is no log level %q. The levels are %v.", p.Level, levels)}
		}
		result, err := next(ctx, method, request)
		if _, coded := errors.AsType[*jsonrpc.Error](err); err != nil && !coded && method == "initialize" {
			err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
		}
		return result, err
	}
}

func boundErrors(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, request)
		return result, boundedError(err)
	}
}

// boundedError returns err, shortened if too long.
func boundedError(err error) error {
	if err == nil {
		return nil
	}
	short := &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok {
		short.Code, short.Data = wire.Code, wire.Data
	}
	if len(short.Message) <= mostError && len(short.Data) <= mostError {
		return err
	}
	short.Message = truncate.Shorten(short.Message, mostError)
	if len(short.Data) > mostError {
		short.Data = nil
	}
	return short
}
