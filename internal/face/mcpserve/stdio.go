package mcpserve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/source/mcpclient/rpcid"
	"github.com/toolhost/toolhost/internal/text/jsonlines"
)

// lastAnswers bounds the calls after the end of input before an error answers them: a script can pipe
// requests in and read the answers.
const lastAnswers = 200 * time.Millisecond

// MaxMessage bounds a client's message, in bytes. Tools take texts of up to 10 MB, and JSON may use six
// bytes for two of them.
const MaxMessage = 32 << 20

// lineTransport carries newline-delimited JSON-RPC. Unlike the SDK's transport it answers a broken or
// oversized message with an error and continues, and encodes results once.
type lineTransport struct {
	in      io.Reader
	out     io.Writer
	settled <-chan struct{} // see Options
	onEOF   func()          // called once, when the client closed its end
}

// Connect implements mcp.Transport.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{out: t.out, settled: t.settled, answered: make(chan struct{}, 1),
		open: make(map[jsonrpc.ID]bool)}
	c.Reader = jsonlines.Reader[jsonrpc.Message]{
		In: t.in, Limit: MaxMessage, Decode: decodeMessage,
		Invalid: c.invalid,
		TooLong: func(id json.RawMessage) (none jsonrpc.Message, ok bool) {
			c.refuse(id, jsonrpc.CodeParseError, errTooLong)
			return none, false
		},
		Received: c.count,
		Ended: func() {
			c.awaitAnswers()
			c.answerOpen()
			t.onEOF()
		},
	}
	c.Start()
	return c, nil
}

type lineConn struct {
	jsonlines.Reader[jsonrpc.Message]
	settled <-chan struct{}

	writing sync.Mutex
	out     io.Writer

	unanswered atomic.Int64
	answered   chan struct{} // holds one token after an answer

	opening sync.Mutex
	open    map[jsonrpc.ID]bool // unanswered requests; true if the client cancelled it
}

// SessionID implements mcp.Connection.
func (c *lineConn) SessionID() string { return "" }

// Close implements mcp.Connection.
func (c *lineConn) Close() error {
	c.Reader.Close()
	return nil
}

// Write implements mcp.Connection.
func (c *lineConn) Write(_ context.Context, message jsonrpc.Message) error {
	response, ok := message.(*jsonrpc.Response)
	var err error
	if !ok || !c.close(response.ID) { // "The receiver of a cancellation SHOULD NOT send a response"
		var line []byte
		if line, err = encode(message); err != nil {
			return err
		}
		err = c.writeLine(line)
	}
	if ok {
		c.unanswered.Add(-1)
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}

// close notes that a request is answered, and reports whether the client had cancelled it.
func (c *lineConn) close(id jsonrpc.ID) (cancelled bool) {
	c.opening.Lock()
	defer c.opening.Unlock()
	cancelled = c.open[id]
	delete(c.open, id)
	return cancelled
}

// cancel notes that the client does not want an answer.
func (c *lineConn) cancel(notification *jsonrpc.Request) {
	var params struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(notification.Params, &params) != nil {
		return
	}
	id, err := jsonrpc.MakeID(params.RequestID)
	c.opening.Lock()
	defer c.opening.Unlock()
	if _, open := c.open[id]; open && err == nil {
		c.open[id] = true
	}
}

func (c *lineConn) writeLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(line, '\n'))
	return err
}

// encode is jsonrpc.EncodeMessage without encoding a successful result again, which for a megabyte
// costs more than everything else.
func encode(message jsonrpc.Message) ([]byte, error) {
	response, ok := message.(*jsonrpc.Response)
	if ok && response.Error != nil {
		message = &jsonrpc.Response{ID: response.ID, Error: boundedError(response.Error), Extra: response.Extra}
	}
	if !ok || response.Error != nil || len(response.Result) == 0 || bytes.IndexByte(response.Result, '\n') >= 0 {
		return rpcid.Encode(message)
	}
	id := rpcid.Raw(response.ID)
	line := make([]byte, 0, len(response.Result)+len(id)+40)
	line = append(line, `{"jsonrpc":"2.0","id":`...)
	line = append(append(line, id...), `,"result":`...)
	return append(append(line, response.Result...), '}'), nil
}

// awaitAnswers waits until every request is answered: a short time, or longer while some wait for
// expected tools.
func (c *lineConn) awaitAnswers() {
	var timeout <-chan time.Time
	settled := c.settled
	for c.unanswered.Load() > 0 {
		select {
		case <-settled:
			settled, timeout = nil, time.After(lastAnswers)
		case <-c.answered:
		case <-timeout:
			return
		case <-c.Closed():
			return
		}
	}
}

// answerOpen answers the requests still open, as far as the client reads.
func (c *lineConn) answerOpen() {
	var late []jsonrpc.ID
	c.opening.Lock()
	for id, cancelled := range c.open {
		if !cancelled {
			late, c.open[id] = append(late, id), true // no second answer follows
		}
	}
	c.opening.Unlock()
	if len(late) == 0 {
		return
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		for _, id := range late {
			c.fail(rpcid.Raw(id), jsonrpc.CodeInternalError, fmt.Sprintf("the input ended while this was under way, and "+
				"it was cancelled %s later. Keep the input open until the answer is there.", lastAnswers))
		}
	}()
	select {
	case <-written:
	case <-time.After(lastAnswers):
	}
}

// count notes a request that needs an answer, and adds its id as a header.
func (c *lineConn) count(message jsonrpc.Message) {
	request, ok := message.(*jsonrpc.Request)
	if ok && request.Method == "notifications/cancelled" {
		c.cancel(request)
	}
	if ok && request.IsCall() {
		c.unanswered.Add(1)
		c.opening.Lock()
		c.open[request.ID] = false
		c.opening.Unlock()
		request.Extra = &mcp.RequestExtra{Header: stdioHeaders(request)}
	}
}

var errTooLong = fmt.Errorf("a message is longer than %d bytes; send less in one call", MaxMessage)

// decodeMessage is rpcid.Decode, which decodes twice, with a fast path for plain requests. Unlike the SDK it takes
// neither text behind the message nor an answer without content.
func decodeMessage(data []byte) (jsonrpc.Message, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil && !json.Valid(data) {
		return nil, err
	} else if err != nil {
		return nil, errNoObject
	}
	if isEmpty(fields) {
		return nil, errEmpty
	}
	var request jsonrpc.Request
	plain := string(fields["jsonrpc"]) == `"2.0"` && string(fields["params"]) != "null" &&
		json.Unmarshal(fields["method"], &request.Method) == nil
	if !plain {
		return rpcid.Decode(exactAnswer(data))
	}
	var err error
	request.ID, err = rpcid.Of(fields["id"])
	request.Params = fields["params"]
	rpcid.Cancelled(&request)
	if inexactResponses(request.Params) {
		return nil, errInexact
	}
	return &request, err
}

var (
	errEmpty    = errors.New("it has no method, result or error")
	errNoObject = errors.New("it is not a JSON object")
)

func isEmpty(fields map[string]json.RawMessage) bool {
	return fields["method"] == nil && fields["result"] == nil && fields["error"] == nil
}

// invalid answers an invalid message, under its id if that can be read.
func (c *lineConn) invalid(data []byte, cause error) {
	var m map[string]json.RawMessage
	_ = json.Unmarshal(data, &m)
	id := m["id"]
	if _, err := rpcid.Of(id); err != nil {
		id = nil
	}
	switch {
	case !json.Valid(data):
		c.refuse(nil, jsonrpc.CodeParseError, cause)
	case errors.Is(cause, errInexact):
		c.fail(id, jsonrpc.CodeInvalidParams, inexactAnswer+". "+giveText)
	default:
		c.refuse(id, jsonrpc.CodeInvalidRequest, cause)
	}
}

// refuse answers what is not a message.
func (c *lineConn) refuse(id json.RawMessage, code int, cause error) {
	c.fail(id, code, "not a JSON-RPC message: "+cause.Error())
}

// fail sends an error itself, not through the SDK. A nil id is sent as null.
func (c *lineConn) fail(id json.RawMessage, code int, message string) {
	if line := errorLine(id, code, message); line != nil {
		_ = c.writeLine(line)
	}
}
