// Package jsonlines reads JSON-RPC messages, one per line. Other lines and lines that are too long do not end
// it.
package jsonlines

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/toolhost/toolhost/internal/text/regexlimit"
)

// Reader reads messages of type M. Its fields must be set before Start.
type Reader[M any] struct {
	In io.Reader
	// Limit bounds a line, in bytes.
	Limit int
	// Decode decodes one message.
	Decode func(data []byte) (M, error)
	// Invalid is called with a line, or a part of a batch, that is not a message.
	Invalid func(data []byte, err error)
	// TooLong is called for a line over Limit, with its message's id or nil; a message that it returns
	// replaces the line.
	TooLong func(id json.RawMessage) (M, bool)
	// Received is called with each message just before it is read.
	Received func(M)
	// Ended is called once at the end of the input. May be nil.
	Ended func()

	incoming chan M
	ended    chan struct{}
	closed   chan struct{}
	close    sync.Once
}

// Start reads until the input ends or the reader is closed.
func (r *Reader[M]) Start() {
	r.incoming, r.ended, r.closed = make(chan M), make(chan struct{}), make(chan struct{})
	go r.loop(bufio.NewReaderSize(r.In, 64<<10))
}

// Close ends a pending Read. It reports whether this was the first call.
func (r *Reader[M]) Close() (first bool) {
	r.close.Do(func() {
		close(r.closed)
		first = true
	})
	return first
}

// Closed returns a channel that Close closes.
func (r *Reader[M]) Closed() <-chan struct{} { return r.closed }

// Read returns the next message, io.EOF at the end.
func (r *Reader[M]) Read(ctx context.Context) (message M, err error) {
	select {
	case <-r.closed:
		return message, io.EOF
	case <-r.ended:
		return message, io.EOF
	case <-ctx.Done():
		return message, ctx.Err()
	case message = <-r.incoming:
		return message, nil
	}
}

func (r *Reader[M]) loop(in *bufio.Reader) {
	for {
		line, err := readLine(in, r.Limit)
		if errors.Is(err, errTooLong) {
			if message, ok := r.TooLong(idOf(line)); ok && !r.hand(message) {
				return
			}
			continue
		}
		for _, message := range r.messages(bytes.TrimSpace(line)) {
			if !r.hand(message) {
				return
			}
		}
		if err != nil {
			if r.Ended != nil {
				r.Ended()
			}
			close(r.ended)
			return
		}
	}
}

func (r *Reader[M]) hand(message M) bool {
	r.Received(message)
	select {
	case r.incoming <- message:
		return true
	case <-r.closed:
		return false
	}
}

// messages returns the messages of a line: one, those of a batch, or none for a blank line.
func (r *Reader[M]) messages(line []byte) (found []M) {
	if len(line) == 0 {
		return nil
	}
	for _, part := range Split(line) {
		message, err := r.Decode(part)
		if err != nil {
			r.Invalid(part, err)
			continue
		}
		found = append(found, message)
	}
	return found
}

// Split returns the messages of a batch, or the one message. An empty batch is an invalid message.
func Split(data []byte) []json.RawMessage {
	var batch []json.RawMessage
	if bytes.HasPrefix(data, []byte{'['}) && json.Unmarshal(data, &batch) == nil && len(batch) > 0 {
		return batch
	}
	return []json.RawMessage{data}
}

var errTooLong = errors.New("the line is too long")

// ends is how much is kept of both ends of a line that is too long, in bytes.
const ends = 512

// readLine reads up to the next newline. Of a line over limit it returns both ends, with a newline between them,
// and errTooLong.
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

// idOf returns a message's id from its ends, where it is first or last; nil if unknown.
func idOf(line []byte) json.RawMessage {
	head, tail, _ := bytes.Cut(line, []byte{'\n'})
	match := idFirst().FindSubmatch(head)
	if match == nil {
		match = idLast().FindSubmatch(tail)
	}
	if match == nil {
		return nil
	}
	return match[1]
}

var idFirst = regexlimit.Lazy(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,`)

var idLast = regexlimit.Lazy(`,\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
