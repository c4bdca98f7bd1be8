package mcpserve

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
)

// rpcID is the header in which the id of a request reaches its handler, which
// the SDK does not tell. Where a client sends one it is replaced.
const rpcID = "Toolhost-Jsonrpc-Id"

// viaPipe is a header of requests that came over stdio.
const viaPipe = "Toolhost-Via-Pipe"

// TraceHeader is the header of a request whose call a gateway hands on, with the
// traceparent of what the gateway does for it.
const TraceHeader = "Toolhost-Traceparent"

// headID has a request over HTTP tell its id.
func headID(r *http.Request) {
	var message struct {
		ID json.RawMessage `json:"id"`
	}
	r.Header.Del(rpcID)
	r.Header.Del(viaPipe)
	if json.Unmarshal(bodyOf(r), &message) == nil && len(message.ID) > 0 {
		r.Header.Set(rpcID, rawText(message.ID))
	}
}

// traced gives a context for a call with what is known of its request: the
// trace that the client names, if it does, and the request itself.
func traced(ctx context.Context, request *mcp.CallToolRequest) context.Context {
	meta := func(name string) string {
		text, _ := request.Params.Meta[name].(string)
		return text
	}
	o := host.Origin{TraceParent: meta("traceparent"), TraceState: meta("tracestate"), Baggage: meta("baggage"),
		Method: "tools/call", Revision: request.ProtocolVersion(), Transport: "tcp"}
	if request.Session != nil {
		o.Session = request.Session.ID()
	}
	if link := linkOf(ctx); link != nil {
		o.Session = cmp.Or(o.Session, link.session.Name())
	}
	if request.Extra != nil {
		o.RequestID = request.Extra.Header.Get(rpcID)
		o.TraceParent = cmp.Or(request.Extra.Header.Get(TraceHeader), o.TraceParent)
		if _, pipe := request.Extra.Header[viaPipe]; pipe {
			o.Transport = "pipe"
		}
	}
	return host.WithOrigin(ctx, o)
}

// rawText is an id as text: that of a string without its quotes.
func rawText(id json.RawMessage) string {
	var text string
	if json.Unmarshal(id, &text) == nil {
		return text
	}
	return string(id)
}
