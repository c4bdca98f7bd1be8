package fleet

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/tool"
)

// NamedCall starts the CallHeader of a call with the client's request_id in its _meta. Others start
// with MadeCall and are named by the gateway.
const (
	NamedCall = "r:"
	MadeCall  = "g:"
)

// CallDigest identifies a call: its method, the name or URI, and the arguments as canonical JSON.
func CallDigest(method, name, arguments string) string {
	return Digest(method + "\x00" + name + "\x00" + arguments)
}

// CodeLost is the code of a call that may have run.
const CodeLost tool.Code = "lost"

// CodeBusy is the code of a call that did not run for lack of room.
const CodeBusy tool.Code = "busy"

// Lost returns the error of a call that may have run without a known result.
func Lost(name, worker string) *tool.Error {
	return tool.Errorf(CodeLost, "the worker %s was lost while it ran %s: it may have run, and it will not run again",
		worker, name).
		Suggest("Look at what it has changed before calling it again, with another request_id.")
}

// OtherParams refuses a request id that stood for another call.
func OtherParams(name string) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, "%s was not run: the request_id was used for a call with other parameters",
		name).
		Suggest("Use a request_id of its own for each call.")
}

// FailedResult returns an error as the result of a call.
func FailedResult(shown *tool.Result, err *tool.Error) *mcp.CallToolResult {
	result := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: shown.Text()}}}
	if err.Code == CodeLost || err.Code == CodeBusy {
		result.Meta = mcp.Meta{OutcomeMeta: string(err.Code)}
	}
	return result
}
