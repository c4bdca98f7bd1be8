package mcpserve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/source/mcpclient/rpcid"
)

// rpcID is the header that carries a request's id to its handler, which the SDK does not.
const rpcID = "Toolhost-Jsonrpc-Id"

// rpcToken is the header that carries a progress token that the SDK would round.
const rpcToken = "Toolhost-Progress-Token"

// viaPipe is a header of stdio requests.
const viaPipe = "Toolhost-Via-Pipe"

// TraceHeader carries the traceparent of a gateway that forwards the call.
const TraceHeader = "Toolhost-Traceparent"

// setRequestHeaders sets the id and progress token of a request over HTTP as headers, instead of the client's own.
func setRequestHeaders(r *http.Request) {
	var message struct {
		ID     json.RawMessage `json:"id"`
		Params json.RawMessage `json:"params"`
	}
	r.Header.Del(rpcID)
	r.Header.Del(viaPipe)
	r.Header.Del(rpcToken)
	if json.Unmarshal(bodyOf(r), &message) != nil {
		return
	}
	if len(message.ID) > 0 && string(message.ID) != "null" {
		id := string(message.ID)
		_ = json.Unmarshal(message.ID, &id) // a string loses its quotes
		r.Header.Set(rpcID, id)
	}
	if token := longToken(message.Params); token != "" {
		r.Header.Set(rpcToken, token)
	}
}

// stdioHeaders returns the same headers for a request over stdio.
func stdioHeaders(request *jsonrpc.Request) http.Header {
	header := http.Header{rpcID: {rpcid.Text(request.ID)}, viaPipe: {""}}
	if token := longToken(request.Params); token != "" {
		header.Set(rpcToken, token)
	}
	return header
}

// longToken returns the progress token if the SDK would round it, else "".
func longToken(params json.RawMessage) string {
	var p struct {
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if !bytes.Contains(params, []byte("progressToken")) || json.Unmarshal(params, &p) != nil || rpcid.Plain(p.Meta.Token) {
		return ""
	}
	return string(p.Meta.Token)
}

// tokenOf returns the progress token as written; nil if there is none.
func tokenOf(extra *mcp.RequestExtra, read any) any {
	if extra != nil && read != nil && extra.Header.Get(rpcToken) != "" {
		return json.Number(extra.Header.Get(rpcToken))
	}
	return read
}

// withOrigin returns a context that says where the call came from: request, session, transport and trace.
func withOrigin(ctx context.Context, request *mcp.CallToolRequest) context.Context {
	meta := func(name string) string {
		text, _ := request.Params.Meta[name].(string)
		return text
	}
	o := host.Origin{TraceParent: meta("traceparent"), TraceState: meta("tracestate"), Baggage: meta("baggage"),
		Method: "tools/call", Revision: request.ProtocolVersion(), Transport: "tcp"}
	if request.Session != nil {
		o.Session = request.Session.ID()
	}
	if conn := connOf(ctx); conn != nil {
		o.Session = cmp.Or(o.Session, conn.session.Name())
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
