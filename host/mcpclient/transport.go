package mcpclient

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/proc"
	"github.com/toolhost/toolhost/internal/show"
)

// writeWait is how long a write may go on after its caller has given up. A
// server that does not read by then is beyond help.
const writeWait = 3 * time.Second

// transport makes the way to the server: it starts the program, or readies the
// HTTP client.
func (l *link) transport() (mcp.Transport, error) {
	spec, options := l.server.spec, l.server.client.options
	if spec.URL != "" {
		l.http = newHTTPClient(spec, l.wire, options.MaxMessage)
		transport := &mcp.StreamableClientTransport{Endpoint: spec.URL, HTTPClient: l.http.client(), MaxRetries: 2, MaxEventSize: options.MaxMessage}
		if l.server.oauth != nil {
			l.http.oauth, transport.OAuthHandler = l.server.oauth, l.server.oauth
		}
		return transport, nil
	}
	if err := l.start(spec, options); err != nil {
		return nil, err
	}
	return &lineTransport{conn: newLineConn(l, options.MaxMessage)}, nil
}

// start starts the program.
func (l *link) start(spec Spec, options Options) error {
	path, err := proc.LookPath(spec.Command[0], "")
	if err != nil {
		return err
	}
	command := proc.Command{
		Argv: append([]string{path}, spec.Command[1:]...), Dir: options.Dir, Env: proc.Environ(spec.Env), Grace: time.Second,
		OnLine: func(_, line string) { l.hear(line) },
	}
	if options.Prepare != nil {
		command.Prepare = func(cmd *exec.Cmd) error { return options.Prepare(cmd, spec) }
	}
	l.process, err = proc.Open(l.ctx, command)
	return err
}

// program gives the absolute path of a server's program, "" when there is none.
func program(spec Spec) string {
	path, err := proc.LookPath(spec.Command[0], "")
	if err != nil {
		return ""
	}
	return filepath.Clean(path)
}

// hear takes a line of the program's standard error.
func (l *link) hear(line string) {
	line = l.server.client.hide(strings.ToValidUTF8(line, "\uFFFD"))
	l.words.add(show.SaidLine(line, maxLogLength))
	l.say(slog.LevelInfo, line)
}

// lineTransport carries newline-delimited JSON-RPC to a program. Unlike the
// SDK's own it outlives what programs print beside their messages, and a
// message that is too long fails the call that it answers and no other.
type lineTransport struct{ conn *lineConn }

// Connect implements mcp.Transport.
func (t *lineTransport) Connect(context.Context) (mcp.Connection, error) {
	go t.conn.readLoop()
	return t.conn, nil
}

type incoming struct {
	message jsonrpc.Message
	err     error
}

type lineConn struct {
	link     *link
	wire     *wire
	stdin    *os.File
	stdout   *bufio.Reader
	limit    int
	incoming chan incoming
	closed   chan struct{}
	close    sync.Once
	writing  sync.Mutex
}

func newLineConn(l *link, limit int) *lineConn {
	return &lineConn{
		link: l, wire: l.wire, stdin: l.process.Stdin, stdout: bufio.NewReaderSize(l.process.Stdout, 64<<10), limit: limit,
		incoming: make(chan incoming), closed: make(chan struct{}),
	}
}

// SessionID implements mcp.Connection; a pipe has none.
func (c *lineConn) SessionID() string { return "" }

// Close implements mcp.Connection. A pending Read ends, and so does the
// program's input.
func (c *lineConn) Close() error {
	c.close.Do(func() {
		close(c.closed)
		_ = c.stdin.Close()
	})
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

// Write implements mcp.Connection. A write that is stuck because the program
// does not read ends soon after ctx.
func (c *lineConn) Write(ctx context.Context, message jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	if request, ok := message.(*jsonrpc.Request); ok {
		c.wire.sent(request.ID, request.Method, request.Params)
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

// readLoop hands on messages until the output ends.
func (c *lineConn) readLoop() {
	for {
		line, err := readLine(c.stdout, c.limit)
		if errors.Is(err, errTooLong) {
			if id, ok := answeredID(line); ok && !c.hand(incoming{message: c.wire.tooLong(id)}) {
				return
			}
			continue
		}
		for _, message := range c.decode(line) {
			if !c.hand(incoming{message: message}) {
				return
			}
		}
		if err != nil {
			c.hand(incoming{err: io.EOF})
			return
		}
	}
}

func (c *lineConn) hand(next incoming) bool {
	if response, ok := next.message.(*jsonrpc.Response); ok {
		c.wire.received(response.ID, response.Result)
	}
	select {
	case c.incoming <- next:
		return true
	case <-c.closed:
		return false
	}
}

// decode gives the messages of a line, one or those of a batch. What is no
// message is somebody's forgotten print statement: it goes to the log.
func (c *lineConn) decode(line []byte) (messages []jsonrpc.Message) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil
	}
	parts := split(line)
	for _, part := range parts {
		message, err := jsonrpc.DecodeMessage(part)
		if err != nil {
			c.link.hear("stdout: " + string(line[:min(len(line), maxWord)]))
			continue
		}
		messages = append(messages, message)
	}
	return messages
}

var errTooLong = errors.New("the message is too long")

// ends are how much is kept of both ends of a line that is too long.
const ends = 512

// readLine reads up to the next newline. Of a line beyond limit it gives the
// two ends, with errTooLong.
func readLine(in *bufio.Reader, limit int) (line []byte, err error) {
	var tail []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if !tooLong && len(line)+len(part) > limit {
			tooLong = true
			tail = append(tail, line[max(0, len(line)-ends):]...)
			line = append([]byte{}, line[:min(len(line), ends)]...)
		}
		if tooLong {
			tail = append(tail, part...)
			tail = append([]byte{}, tail[max(0, len(tail)-ends):]...)
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && tooLong:
			return append(append(line, '\n'), tail...), errTooLong
		default:
			return line, err
		}
	}
}

// answeredID finds which request a response answers of which only the ends are
// known: the id comes before the result, or last.
func answeredID(line []byte) (id jsonrpc.ID, ok bool) {
	head, tail, _ := bytes.Cut(line, []byte{'\n'})
	match := idFirst().FindSubmatch(head)
	if match == nil {
		match = idLast().FindSubmatch(tail)
	}
	if match == nil {
		return id, false
	}
	number, err := strconv.ParseFloat(string(match[1]), 64)
	if err == nil {
		id, err = jsonrpc.MakeID(number)
	}
	return id, err == nil
}

var idFirst = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,`)
})

var idLast = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`,\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
})
