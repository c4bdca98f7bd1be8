package mcpserve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lastAnswers is how long the calls that are under way when the input ends may
// still take to be answered. It lets a script pipe requests in and read the
// answers; whoever hangs up waits for nothing.
const lastAnswers = 200 * time.Millisecond

// MaxMessage bounds one message that a client may send, in bytes. Tools take
// texts of up to 10 MB, and JSON may spell two bytes of them in six.
const MaxMessage = 32 << 20

// lineTransport carries newline-delimited JSON-RPC. Unlike the SDK's own
// transport it outlives a broken or oversized message, which it answers with
// an error, and it writes a response's result without encoding it again.
type lineTransport struct {
	in      io.Reader
	out     io.Writer
	settled <-chan struct{} // see Options
	onEOF   func()          // called once, when the client has closed its end
}

// Connect implements mcp.Transport.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{out: t.out, incoming: make(chan incoming), closed: make(chan struct{}), answered: make(chan struct{}, 1)}
	c.settled = t.settled
	go c.readLoop(bufio.NewReaderSize(t.in, 64<<10), t.onEOF)
	return c, nil
}

// incoming is a message, or the reason why there are no more.
type incoming struct {
	message jsonrpc.Message
	err     error
}

type lineConn struct {
	incoming  chan incoming
	settled   <-chan struct{}
	closed    chan struct{}
	closeOnce sync.Once

	writing sync.Mutex
	out     io.Writer

	unanswered atomic.Int64
	answered   chan struct{} // holds one token after an answer
}

// SessionID implements mcp.Connection; a pipe has none.
func (c *lineConn) SessionID() string { return "" }

// Close implements mcp.Connection. A pending Read ends.
func (c *lineConn) Close() error {
	c.closeOnce.Do(func() { close(c.closed) })
	return nil
}

// Read implements mcp.Connection.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	case next := <-c.incoming:
		return next.message, next.err
	}
}

// Write implements mcp.Connection.
func (c *lineConn) Write(_ context.Context, message jsonrpc.Message) error {
	line, err := encode(message)
	if err != nil {
		return err
	}
	err = c.writeLine(line)
	if _, ok := message.(*jsonrpc.Response); ok {
		c.unanswered.Add(-1)
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
	return err
}

func (c *lineConn) writeLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(line, '\n'))
	return err
}

// encode is jsonrpc.EncodeMessage, but a successful response is assembled
// around its result, which is valid JSON already: encoding a result of a
// megabyte again costs more than everything else.
func encode(message jsonrpc.Message) ([]byte, error) {
	response, ok := message.(*jsonrpc.Response)
	if !ok || response.Error != nil || len(response.Result) == 0 || bytes.IndexByte(response.Result, '\n') >= 0 {
		return jsonrpc.EncodeMessage(message)
	}
	id, err := json.Marshal(response.ID.Raw())
	if err != nil {
		return nil, err
	}
	line := make([]byte, 0, len(response.Result)+len(id)+40)
	line = append(line, `{"jsonrpc":"2.0","id":`...)
	line = append(append(line, id...), `,"result":`...)
	return append(append(line, response.Result...), '}'), nil
}

// readLoop hands on messages until the input ends.
func (c *lineConn) readLoop(in *bufio.Reader, onEOF func()) {
	for {
		line, err := readLine(in)
		if errors.Is(err, errTooLong) {
			c.refuse(requestID(line), err)
			continue
		}
		for _, message := range c.decode(line) {
			if !c.hand(incoming{message: message}) {
				return
			}
		}
		if err != nil {
			c.awaitAnswers()
			onEOF()
			c.hand(incoming{err: io.EOF})
			return
		}
	}
}

// awaitAnswers waits until every request is answered, but not for long once
// none waits for tools that are about to come.
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
		case <-c.closed:
			return
		}
	}
}

func (c *lineConn) hand(next incoming) bool {
	if request, ok := next.message.(*jsonrpc.Request); ok && request.IsCall() {
		c.unanswered.Add(1)
	}
	select {
	case c.incoming <- next:
		return true
	case <-c.closed:
		return false
	}
}

var errTooLong = fmt.Errorf("a message is longer than %d bytes; send less in one call", MaxMessage)

// readLine reads up to the next newline. A line beyond MaxMessage is skipped
// whole and gives its beginning with errTooLong.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(part) > MaxMessage; tooLong {
			line = line[:min(len(line), 256):256]
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && tooLong:
			return line, errTooLong
		default:
			return line, err
		}
	}
}

// decode gives the messages of a line: one, those of a batch, or none for a
// blank or broken line.
func (c *lineConn) decode(line []byte) []jsonrpc.Message {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	parts := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &parts); err != nil {
			c.refuse(nil, err)
			return nil
		}
	}
	var messages []jsonrpc.Message
	for _, part := range parts {
		message, err := decodeMessage(part)
		if err != nil {
			c.refuse(nil, err)
			continue
		}
		messages = append(messages, message)
	}
	return messages
}

// decodeMessage is jsonrpc.DecodeMessage, but takes a plain request apart by
// itself: that decodes twice, with a buffer of 32 KiB each time.
func decodeMessage(data []byte) (jsonrpc.Message, error) {
	var fields map[string]json.RawMessage
	var request jsonrpc.Request
	var id any
	plain := json.Unmarshal(data, &fields) == nil && string(fields["jsonrpc"]) == `"2.0"` && string(fields["params"]) != "null" &&
		json.Unmarshal(fields["method"], &request.Method) == nil &&
		(fields["id"] == nil || json.Unmarshal(fields["id"], &id) == nil)
	if !plain {
		return jsonrpc.DecodeMessage(data)
	}
	var err error
	request.ID, err = jsonrpc.MakeID(id)
	request.Params = fields["params"]
	return &request, err
}

// requestID finds the id at the beginning of a request that was not read to
// its end, so that whoever waits for the answer gets it. Nil is unknown.
func requestID(beginning []byte) json.RawMessage {
	match := idAtStart().FindSubmatch(beginning)
	if match == nil {
		return nil
	}
	return match[1]
}

var idAtStart = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,`)
})

// refuse answers what is no message. A nil id is unknown and sent as null.
func (c *lineConn) refuse(id json.RawMessage, cause error) {
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0",
		"id":      id,
		"error":   map[string]any{"code": jsonrpc.CodeParseError, "message": "not a JSON-RPC message: " + cause.Error()},
	})
	if err == nil {
		_ = c.writeLine(line)
	}
}
