package mcpserve

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/text/truncate"
)

// mostError bounds a protocol error's message and data, in bytes: both repeat parts of the request.
const mostError = 64 << 10

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
