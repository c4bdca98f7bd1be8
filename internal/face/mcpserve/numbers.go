package mcpserve

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/internal/source/mcpclient/rpcid"
	"github.com/toolhost/toolhost/internal/text/exact"
	"github.com/toolhost/toolhost/internal/text/jsonlines"
)

// The SDK reads numbers as float64. What that would change is kept beside it (rpcid, rpcToken) or
// refused: a user's answer must not change, and over HTTP ids go through the SDK alone.

const (
	inexactAnswer = "an answer holds a number with more digits than are kept"
	giveText      = "Give it as a text, or with at most 15 digits."
)

var errInexact = errors.New(inexactAnswer)

// exactAnswer returns the message, or an error answer if float64 would change it.
func exactAnswer(data []byte) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
		Result struct {
			Content json.RawMessage `json:"content"`
		} `json:"result"`
	}
	if json.Unmarshal(data, &m) != nil || m.Method != nil || exact.Kept(m.Result.Content) {
		return data
	}
	return errorLine(m.ID, jsonrpc.CodeInvalidParams, inexactAnswer+". "+giveText)
}

// errorLine returns an error response; nil if the id is invalid.
func errorLine(id json.RawMessage, code int, message string) []byte {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id,
		"error": map[string]any{"code": code, "message": message}})
	if err != nil {
		return nil
	}
	return line
}

// inexactResponses reports whether float64 would change the request's answers.
func inexactResponses(params json.RawMessage) bool {
	var p struct {
		Responses json.RawMessage `json:"inputResponses"`
	}
	return bytes.Contains(params, []byte("inputResponses")) && json.Unmarshal(params, &p) == nil &&
		!exact.Kept(p.Responses)
}

// exactBody refuses an HTTP request whose numbers float64 would change, and one that says nothing, which the SDK would
// accept and never answer.
func exactBody(r *http.Request) *refusal {
	body := bodyOf(r)
	parts := jsonlines.Split(bytes.TrimSpace(body))
	for _, part := range parts {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(part, &m) != nil {
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(part, &fields) == nil && isEmpty(fields) {
			no := refuse(http.StatusBadRequest, "not a JSON-RPC message: "+errEmpty.Error(), "Send a request.")
			no.id = m.ID
			return no
		}
		var cancels struct {
			ID json.RawMessage `json:"requestId"`
		}
		if m.Method == "notifications/cancelled" {
			_ = json.Unmarshal(m.Params, &cancels)
		}
		no := refuse(http.StatusBadRequest, "the id of a request is a number that is not kept as it is",
			"Use texts as ids, or whole numbers below 2^53.")
		switch {
		case inexactResponses(m.Params):
			no.message, no.next = inexactAnswer, giveText
		case rpcid.Plain(m.ID) && rpcid.Plain(cancels.ID):
			continue
		}
		no.id = m.ID
		return no
	}
	if len(parts) == 1 {
		body = exactAnswer(body)
		if len(body) > 0 {
			r.Body = heldBody{bytes.NewReader(body), body}
			r.ContentLength = int64(len(body))
		}
	}
	return nil
}
