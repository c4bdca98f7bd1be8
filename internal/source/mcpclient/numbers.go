package mcpclient

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/text/exact"
)

// keepNumbers prepares a server's request for the SDK, which would change its numbers: data of a log line becomes
// text, and a form with such a number is refused. It reports a change.
func keepNumbers(r *jsonrpc.Request) (changed bool) {
	member, made := "", json.RawMessage(nil)
	switch r.Method {
	case "notifications/message":
		member = "data"
	case "elicitation/create":
		member = "requestedSchema"
	default:
		return false
	}
	var params map[string]json.RawMessage
	if exact.Kept(r.Params) || json.Unmarshal(r.Params, &params) != nil || exact.Kept(params[member]) {
		return false
	}
	if member == "data" {
		made = tool.MustMarshal(string(params[member]))
	} else { // the SDK answers that the mode is unknown
		member = "mode"
		made = tool.MustMarshal("a form whose numbers have more digits than are kept; use at most 15")
	}
	params[member] = made
	r.Params = tool.MustMarshal(params)
	return true
}
