package search

import (
	"bytes"
	"errors"
	"io"

	"golang.org/x/text/transform"
)

const (
	// windowSize is the size in bytes up to which a file is held in memory whole. It is a power of two times the
	// size of a first read.
	windowSize = 32 << 20
	// maxWindow limits the window if a line is longer than it.
	maxWindow = 1 << 30
)

// window moves through a large file. buf[from:] is searched; before it are lines for context.
type window struct {
	buf  []byte
	from int
	line int // lines before buf
	rest io.Reader
	end  bool // rest is at its end
}

// searchWindows searches a large file that starts with data. It returns false if the file cannot be read to its
// end.
func (w *worker) searchWindows(data []byte, rest io.Reader, found *fileHits) bool {
	win := &window{buf: data, rest: rest}
	if d := decoderOf(data); d != nil {
		whole := io.MultiReader(bytes.NewReader(bytes.Clone(data)), rest)
		win.buf, win.rest = make([]byte, 0, windowSize), transform.NewReader(whole, d)
	} else {
		win.buf = decode(data)
	}
	for {
		n, err := io.ReadFull(win.rest, win.buf[len(win.buf):cap(win.buf)])
		win.buf = win.buf[:len(win.buf)+n]
		win.end = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !win.end || w.stopped() {
			return false
		}
		if isBinary(win.buf) {
			found.count, found.lines = 0, nil
			return true
		}
		to, ok := win.border(w.job.After)
		if ok && (found.count == 0 || w.job.Mode != Files) {
			in := &input{text: win.buf, from: win.from, to: to, line: win.line, query: w.job.Query,
				pattern: w.job.pattern, stop: w.stop}
			in.search(found)
		}
		if win.end {
			w.buf = nil // it may have grown
			return true
		}
		if ok {
			win.move(to, w.job.Before)
		} else if len(win.buf) >= maxWindow {
			return false
		} else {
			win.buf = append(make([]byte, 0, max(2*cap(win.buf), 16)), win.buf...)
		}
	}
}

func (w *worker) stopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// border returns the end of the lines that can be searched: complete ones, followed by their context. ok is
// false if there are none.
func (win *window) border(after int) (to int, ok bool) {
	if win.end {
		return len(win.buf), true
	}
	to = len(win.buf)
	for range after + 1 {
		if to = bytes.LastIndexByte(win.buf[:max(to-1, 0)], '\n') + 1; to <= win.from {
			return 0, false
		}
	}
	return to, true
}

// move drops what has been searched, except the lines before to needed for context.
func (win *window) move(to, before int) {
	start := to
	for i := 0; i < before && start > 0; i++ {
		start = bytes.LastIndexByte(win.buf[:start-1], '\n') + 1
	}
	win.line += bytes.Count(win.buf[:start], []byte{'\n'})
	win.from = to - start
	win.buf = win.buf[:copy(win.buf, win.buf[start:])]
}
