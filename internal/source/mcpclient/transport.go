package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/source/mcpclient/rpcid"
	"github.com/toolhost/toolhost/internal/text/jsonlines"
)

// writeWait is how long a write may continue after its caller gave up.
const writeWait = 3 * time.Second

func (c *conn) transport() (mcp.Transport, error) {
	spec, options := c.server.spec, c.server.client.options
	if spec.URL != "" {
		c.http = newHTTPClient(spec, c.rawResults, options.MaxMessage)
		transport := &mcp.StreamableClientTransport{Endpoint: spec.URL, HTTPClient: c.http.client(), MaxRetries: 2,
			MaxEventSize: options.MaxMessage}
		if c.server.oauth != nil {
			c.http.oauth, transport.OAuthHandler = c.server.oauth, c.server.oauth
		}
		return transport, nil
	}
	if err := c.start(spec, options); err != nil {
		return nil, err
	}
	return &lineTransport{conn: c, limit: options.MaxMessage}, nil
}

func (c *conn) start(spec Spec, options Options) error {
	if err := spec.Files.Verify(); err != nil {
		return err
	}
	path, err := proc.LookPath(spec.Command[0], "")
	if err != nil {
		return err
	}
	command := proc.Command{
		Argv: append([]string{path}, spec.Command[1:]...), Dir: options.Dir, Env: proc.Environ(spec.Env),
		Grace:  time.Second,
		OnLine: func(_, line string) { c.hear(line) },
	}
	if options.Prepare != nil {
		command.Prepare = func(cmd *exec.Cmd) error { return options.Prepare(cmd, spec) }
	}
	c.process, err = proc.Open(c.ctx, command)
	return err
}

// program returns the absolute path of a server's program, or "".
func program(spec Spec) string {
	path, err := proc.LookPath(spec.Command[0], "")
	if err != nil {
		return ""
	}
	return filepath.Clean(path)
}

// hear handles a line of the program's standard error.
func (c *conn) hear(line string) {
	line = c.server.client.hide(strings.ToValidUTF8(line, "\uFFFD"))
	c.words.add(show.SanitizeLine(line, maxLogLength))
	c.say(slog.LevelInfo, line)
}

// lineTransport is newline-delimited JSON-RPC to a program. Unlike the SDK's own it tolerates other
// output, and an overlong message fails only the call that it answers.
type lineTransport struct {
	conn  *conn
	limit int
}

// Connect implements mcp.Transport.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	l := t.conn
	c := &lineConn{rawResults: l.rawResults, stdin: l.process.Stdin}
	c.Reader = jsonlines.Reader[jsonrpc.Message]{
		In: l.process.Stdout, Limit: t.limit, Decode: rpcid.Decode,
		// A forgotten print statement goes to the log.
		Invalid:  func(data []byte, _ error) { l.hear("stdout: " + string(data[:min(len(data), maxWord)])) },
		TooLong:  c.tooLong,
		Received: c.received,
	}
	c.Start()
	return c, nil
}

type lineConn struct {
	jsonlines.Reader[jsonrpc.Message]
	rawResults *rawResults
	stdin      *os.File
	writing    sync.Mutex
}

// SessionID implements mcp.Connection; a pipe has none.
func (c *lineConn) SessionID() string { return "" }

// Close implements mcp.Connection. A pending Read and the program's input end.
func (c *lineConn) Close() error {
	if c.Reader.Close() {
		_ = c.stdin.Close()
	}
	return nil
}

// Write implements mcp.Connection. A write blocked by the program ends soon after ctx.
func (c *lineConn) Write(ctx context.Context, message jsonrpc.Message) error {
	line, err := rpcid.Encode(message)
	if err != nil {
		return err
	}
	if request, ok := message.(*jsonrpc.Request); ok {
		c.rawResults.sent(request.ID, request.Method, request.Params)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	stop := context.AfterFunc(ctx, func() { _ = c.stdin.SetWriteDeadline(time.Now().Add(writeWait)) })
	_, err = c.stdin.Write(append(line, '\n'))
	if !stop() {
		_ = c.stdin.SetWriteDeadline(time.Time{})
	}
	return err
}

func (c *lineConn) received(message jsonrpc.Message) {
	switch m := message.(type) {
	case *jsonrpc.Response:
		m.Result = c.rawResults.received(m.ID, m.Result)
	case *jsonrpc.Request:
		keepNumbers(m)
	}
}

var errTooLong = errors.New("the message is too long")

// tooLong answers a request instead of a response that was too long. Our requests have numbers.
func (c *lineConn) tooLong(raw json.RawMessage) (jsonrpc.Message, bool) {
	id, err := rpcid.Of(raw)
	return c.rawResults.tooLong(id), err == nil && id.IsValid()
}
