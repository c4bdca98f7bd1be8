package mcpclient

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// boundedBody passes on a response body by messages: each is noted before the SDK sees it, and an overlong one
// is replaced by an error for its request.
type boundedBody struct {
	io.ReadCloser
	client *httpClient
	asked  *jsonrpc.ID // the answered request, or nil
	ctx    context.Context
	cancel context.CancelFunc
	ready  []byte // to be returned
	err    error  // thereafter
}

func (b *boundedBody) over() {
	b.cancel()
	if b.asked != nil {
		b.client.mu.Lock()
		defer b.client.mu.Unlock()
		delete(b.client.open, key(*b.asked))
	}
}

// Close implements io.Closer.
func (b *boundedBody) Close() error {
	defer b.over()
	return b.ReadCloser.Close()
}

func (b *boundedBody) give(p []byte) (int, error) {
	if len(b.ready) == 0 {
		return 0, b.err
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	return n, nil
}

func (b *boundedBody) overflow() []byte {
	if b.asked == nil {
		return nil
	}
	message, _ := jsonrpc.EncodeMessage(b.client.rawResults.tooLong(*b.asked))
	return message
}

type wholeBody struct{ boundedBody }

func (b *wholeBody) Read(p []byte) (int, error) {
	if b.err == nil {
		b.load()
	}
	return b.give(p)
}

func (b *wholeBody) load() {
	data, err := io.ReadAll(io.LimitReader(b.ReadCloser, int64(b.client.limit)+1))
	if b.err = io.EOF; err != nil {
		b.err = err
		return
	}
	if len(data) > b.client.limit {
		b.ready = b.overflow()
		return
	}
	data = b.client.clean(data)
	b.ready = b.client.messages(data)
}

type eventBody struct {
	boundedBody
	pending []byte // an incomplete event
	scanned int    // bytes of pending without the event's end
}

func (b *eventBody) Read(p []byte) (int, error) {
	for len(b.ready) == 0 && b.err == nil {
		b.fill()
	}
	return b.give(p)
}

// fill reads until a whole event or the end.
func (b *eventBody) fill() {
	chunk := make([]byte, 16<<10)
	n, err := b.ReadCloser.Read(chunk)
	b.pending = append(b.pending, chunk[:n]...)
	for {
		end := eventEnd(b.pending, b.scanned)
		if end < 0 {
			break
		}
		event := b.client.clean(b.pending[:end])
		b.pending, b.scanned = b.pending[end:], 0
		data := eventData(event)
		if clean := b.client.messages(data); !bytes.Equal(clean, data) {
			event = withData(event, clean)
		}
		b.ready = append(b.ready, event...)
	}
	b.scanned = max(0, len(b.pending)-3)
	switch {
	case len(b.pending) > b.client.limit:
		if message := b.overflow(); message != nil {
			b.ready = append(append(append(b.ready, "data: "...), message...), "\n\n"...)
		}
		b.pending, b.err = nil, io.EOF
	case err != nil:
		if errors.Is(err, io.EOF) {
			b.ready = append(b.ready, b.pending...)
		}
		if b.pending, b.err = nil, err; b.asked != nil && b.ctx.Err() != nil {
			b.err = io.EOF // a cancelled request ends, and affects no other
		}
	}
}

// eventEnd returns the end of the first event in data, after a blank line, searching from a position, or -1.
func eventEnd(data []byte, from int) int {
	end := -1
	for _, blank := range []string{"\n\n", "\n\r\n", "\r\r"} {
		if i := bytes.Index(data[from:], []byte(blank)); i >= 0 && (end < 0 || from+i+len(blank) < end) {
			end = from + i + len(blank)
		}
	}
	return end
}

func eventData(event []byte) (data []byte) {
	for line := range bytes.Lines(event) {
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data = append(data, bytes.TrimPrefix(value, []byte{' '})...)
		}
	}
	return data
}

func withData(event, data []byte) []byte {
	var out []byte
	for line := range bytes.Lines(event) {
		if len(bytes.TrimSpace(line)) > 0 && !bytes.HasPrefix(line, []byte("data:")) {
			out = append(append(out, bytes.TrimRight(line, "\r\n")...), '\n')
		}
	}
	return append(append(append(out, "data: "...), data...), "\n\n"...)
}
