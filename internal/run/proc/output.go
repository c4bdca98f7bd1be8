package proc

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/store/redact"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Output is what a process wrote to one stream.
type Output struct {
	// Bytes and Lines count all output, including a last line without a newline.
	Bytes, Lines int64
	// Head and Tail are what was kept. Tail is empty if nothing was omitted.
	Head, Tail []byte
	// Omitted and OmittedLines count what lies between Head and Tail.
	Omitted, OmittedLines int64
	// Path is the file with the whole output, if kept. PathBytes is its size, less than Bytes if it reached the
	// limit.
	Path      string
	PathBytes int64
	// SpillErr is why the whole output could not be kept.
	SpillErr error
}

// Truncated reports whether some of the output was omitted.
func (o Output) Truncated() bool { return o.Omitted > 0 }

// String returns the whole output, or its head and tail around a line that says how much is missing and where
// the whole is. The last line repeats that: clients cut the middle out of a long result.
func (o Output) String() string {
	if o.Omitted == 0 {
		return string(o.Head)
	}
	var b strings.Builder
	b.Write(o.Head)
	if len(o.Head) > 0 && o.Head[len(o.Head)-1] != '\n' {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "[... %d bytes (%d lines) left out; %s ...]\n", o.Omitted, o.OmittedLines, o.where())
	b.Write(o.Tail)
	if len(o.Tail) > 0 && o.Tail[len(o.Tail)-1] != '\n' {
		b.WriteByte('\n')
	}
	b.WriteString(o.Shown())
	return b.String()
}

// Shown returns a line on how much of a long output String has, and where the rest is; empty if it has all.
func (o Output) Shown() string {
	if o.Omitted == 0 {
		return ""
	}
	return fmt.Sprintf("[%d of %d bytes are shown; %s]\n", o.Bytes-o.Omitted, o.Bytes, o.where())
}

func (o Output) where() string {
	switch {
	case o.SpillErr != nil:
		return "it could not be kept: " + o.SpillErr.Error()
	case o.PathBytes > 0 && o.PathBytes < o.Bytes:
		return fmt.Sprintf("the first %d bytes are in %s", o.PathBytes, o.Path)
	case o.Path != "":
		return "the whole output is in " + o.Path
	}
	return "it was not kept"
}

// fromLine drops the rest of a line at the start of text, unless that is most of it.
func fromLine(text []byte) []byte {
	if end := bytes.IndexByte(text, '\n'); end >= 0 && end < len(text)/2 {
		return text[end+1:]
	}
	return text
}

// pipeSize is the usual capacity of a pipe.
const pipeSize = 64 << 10

// maxLine bounds a line for a line callback; longer ones come in parts.
const maxLine = 8 << 10

// capture keeps the head and the tail of a stream in memory, and a longer one whole in a file.
type capture struct {
	limit    int
	spill    spill
	redactor *redact.Stream
	onLine   func(string)
	onOutput func([]byte)

	mu       sync.Mutex
	bytes    int64
	newlines int64
	last     byte
	buf      []byte // everything, until longer than limit
	tail     ring
	line     []byte
}

func (c *capture) readFrom(stream io.Reader) {
	buf := make([]byte, 4<<10)
	for {
		n, err := stream.Read(buf)
		_, _ = c.Write(buf[:n])
		if err != nil {
			return
		}
		if n == len(buf) && n < pipeSize {
			buf = make([]byte, pipeSize)
		}
	}
}

// Write implements io.Writer. It never fails: output that cannot be kept must not break the process.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handleOutput(c.redactor.Pass(p))
	return len(p), nil
}

func (c *capture) handleOutput(p []byte) {
	if len(p) == 0 {
		return
	}
	c.bytes += int64(len(p))
	c.newlines += int64(bytes.Count(p, []byte{'\n'}))
	c.last = p[len(p)-1]
	if c.onOutput != nil {
		c.onOutput(p)
	}
	c.lines(p)
	c.storeOutput(p)
}

func (c *capture) storeOutput(p []byte) {
	if c.tail.size == 0 && len(c.buf)+len(p) <= c.limit {
		c.buf = append(c.buf, p...)
		return
	}
	if c.tail.size == 0 {
		c.overflow()
	}
	c.spill.write(p)
	half := c.limit / 2
	if room := half - len(c.buf); room > 0 {
		n := min(room, len(p))
		c.buf, p = append(c.buf, p[:n]...), p[n:]
	}
	c.tail.write(p)
}

// overflow switches from keeping everything to keeping head and tail.
func (c *capture) overflow() {
	c.spill.open()
	c.spill.write(c.buf)
	half := c.limit / 2
	c.tail.size = max(1, c.limit-half)
	if len(c.buf) > half {
		c.tail.write(c.buf[half:])
		c.buf = c.buf[:half:half]
	}
}

// lines passes complete lines to the callback.
func (c *capture) lines(p []byte) {
	if c.onLine == nil {
		return
	}
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			c.line = append(c.line, p...)
			if len(c.line) >= maxLine {
				c.flushLine()
			}
			return
		}
		c.line = append(c.line, p[:i]...)
		c.flushLine()
		p = p[i+1:]
	}
}

func (c *capture) flushLine() {
	c.onLine(strings.TrimSuffix(string(c.line), "\r"))
	c.line = c.line[:0]
}

// output returns the result so far, cut at character boundaries.
func (c *capture) output() Output {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handleOutput(c.redactor.Rest())
	if len(c.line) > 0 {
		c.flushLine()
	}
	o := Output{Bytes: c.bytes, Lines: c.newlines, Head: c.buf, SpillErr: c.spill.err}
	if c.bytes > 0 && c.last != '\n' {
		o.Lines++
	}
	if c.tail.size == 0 {
		return o
	}
	o.Head, o.Tail = truncate.TrimEnd(c.buf), fromLine(truncate.TrimStart(c.tail.bytes()))
	o.Omitted = c.bytes - int64(len(o.Head)) - int64(len(o.Tail))
	o.OmittedLines = c.newlines - int64(bytes.Count(o.Head, []byte{'\n'})) - int64(bytes.Count(o.Tail, []byte{'\n'}))
	if c.spill.err == nil {
		o.Path, o.PathBytes = c.spill.path, c.spill.written
	}
	return o
}

func (c *capture) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spill.close()
}

// ring keeps the last size bytes written to it.
type ring struct {
	size int
	buf  []byte
	next int
}

func (r *ring) write(p []byte) {
	if len(p) > r.size {
		p = p[len(p)-r.size:]
	}
	if room := r.size - len(r.buf); room > 0 {
		n := min(room, len(p))
		r.buf, p = append(r.buf, p[:n]...), p[n:]
	}
	for len(p) > 0 {
		n := copy(r.buf[r.next:], p)
		r.next, p = (r.next+n)%r.size, p[n:]
	}
}

func (r *ring) bytes() []byte {
	return append(append(make([]byte, 0, len(r.buf)), r.buf[r.next:]...), r.buf[:r.next]...)
}
