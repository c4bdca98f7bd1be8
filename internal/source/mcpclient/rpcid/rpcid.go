// Package rpcid keeps the ids of JSON-RPC messages as written. The SDK converts a number to a float64, and that
// to an integer.
package rpcid

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// mark begins an id that is a string in the SDK and a number on the wire. No foreign id begins so.
const mark = "\x00"

// mostExact is the largest whole number up to which float64 is exact.
const mostExact = 1 << 53

// Plain reports whether a JSON value is not a number, or a whole number that float64 represents
// exactly.
func Plain(raw json.RawMessage) bool {
	text := string(bytes.TrimSpace(raw))
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return true
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == text && -mostExact < n && n < mostExact
}

// Of returns the id written as raw; none for null or nothing.
func Of(raw json.RawMessage) (jsonrpc.ID, error) {
	if !Plain(raw) {
		return jsonrpc.MakeID(mark + string(bytes.TrimSpace(raw)))
	}
	var value any
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &value); err != nil {
			return jsonrpc.ID{}, err
		}
	}
	if text, ok := value.(string); ok && strings.HasPrefix(text, mark) {
		return jsonrpc.ID{}, fmt.Errorf("an id begins with a NUL character")
	}
	return jsonrpc.MakeID(value)
}

// Raw returns an id as written.
func Raw(id jsonrpc.ID) json.RawMessage {
	if text, ok := id.Raw().(string); ok && strings.HasPrefix(text, mark) {
		return json.RawMessage(text[len(mark):])
	}
	raw, _ := json.Marshal(id.Raw())
	return raw
}

// Text returns an id for people: a string without its quotes.
func Text(id jsonrpc.ID) string {
	if text, ok := id.Raw().(string); ok {
		return strings.TrimPrefix(text, mark)
	}
	return fmt.Sprint(id.Raw())
}

// Decode is jsonrpc.DecodeMessage with ids as written.
func Decode(data []byte) (jsonrpc.Message, error) {
	message, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&fields); err != nil { // more may follow, as in the SDK
		return nil, err
	}
	id, err := Of(fields["id"])
	if err != nil {
		return nil, err
	}
	switch m := message.(type) {
	case *jsonrpc.Request:
		m.ID = id
		Cancelled(m)
	case *jsonrpc.Response:
		m.ID = id
	}
	return message, nil
}

// Cancelled gives the cancelled request in r the id that Of returns.
func Cancelled(r *jsonrpc.Request) {
	var params map[string]json.RawMessage
	if r.Method != "notifications/cancelled" || json.Unmarshal(r.Params, &params) != nil || Plain(params["requestId"]) {
		return
	}
	params["requestId"], _ = json.Marshal(mark + string(bytes.TrimSpace(params["requestId"])))
	r.Params, _ = json.Marshal(params)
}

// Encode is jsonrpc.EncodeMessage with ids as written.
func Encode(message jsonrpc.Message) ([]byte, error) {
	data, err := jsonrpc.EncodeMessage(message)
	r, ok := message.(*jsonrpc.Response)
	if err != nil || !ok {
		return data, err
	}
	held, err := json.Marshal(r.ID.Raw())
	if err != nil || !bytes.HasPrefix(held, []byte(`"\u0000`)) {
		return data, err
	}
	return bytes.Replace(data, held, Raw(r.ID), 1), nil // it precedes the result
}
