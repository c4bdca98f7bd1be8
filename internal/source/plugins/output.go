package plugins

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/source/plugins/wire"
	"github.com/toolhost/toolhost/internal/text/truncate"
)

// Bounds of a plugin's kept and logged output.
const (
	maxLine           = 64 << 10 // bytes; the rest is another line
	keptLines         = 20
	keptLineLength    = 400
	maxLinesPerSecond = 1000
)

// handshakeLine is printed by a plugin when ready.
type handshakeLine struct{ version int }

// parseHandshake recognizes CORE|PROTOCOL|NETWORK|ADDRESS[|TYPE...].
func parseHandshake(line string) *handshakeLine {
	parts := strings.Split(line, "|")
	if len(parts) < 4 || parts[2] != "unix" && parts[2] != "tcp" {
		return nil
	}
	if _, err := strconv.Atoi(parts[0]); err != nil {
		return nil
	}
	version, err := strconv.Atoi(parts[1])
	if err != nil {
		return nil
	}
	return &handshakeLine{version}
}

// output logs a plugin's output, and keeps its last lines for errors.
type output struct {
	logger *slog.Logger
	redact func(string) string
	said   func(line string) // may be nil

	mu           sync.Mutex
	last         []string
	line         *handshakeLine
	startupError string
	second       time.Time
	logged       int
	left         int
	panicking    bool
}

// readStdout passes the handshake to go-plugin. Other lines are output.
func (r *guardedRunner) readStdout(f *os.File) {
	eachLine(f, func(line []byte) {
		text := strings.TrimSpace(string(line))
		switch h := parseHandshake(text); {
		case h != nil && r.output.greet(h):
			_, _ = io.WriteString(r.closers.out, text+"\n")
		case strings.HasPrefix(text, wire.StartupErrorPrefix):
			r.output.failStartup(strings.TrimPrefix(text, wire.StartupErrorPrefix))
		default:
			r.output.logLine("stdout", line)
		}
	})
}

// greet notes the handshake; only the first counts.
func (o *output) greet(h *handshakeLine) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.line != nil {
		return false
	}
	o.line = h
	return true
}

func (o *output) failStartup(quoted string) {
	var reason string
	if json.Unmarshal([]byte(quoted), &reason) != nil {
		reason = quoted
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.startupError = shown(o.redact(reason), 4*keptLineLength)
}

func (o *output) read(f *os.File, stream string) {
	eachLine(f, func(line []byte) { o.logLine(stream, line) })
}

// eachLine calls onLine with the lines of r, long ones in pieces.
func eachLine(r io.Reader, onLine func([]byte)) {
	buffered := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := buffered.ReadSlice('\n')
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			onLine(line)
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

// logLine keeps and logs one line.
func (o *output) logLine(stream string, line []byte) {
	r := parseRecord([]byte(o.redact(string(line))))
	o.mu.Lock()
	if stream == "stderr" {
		if len(o.last) == keptLines {
			o.last = append(o.last[:0], o.last[1:]...)
		}
		o.last = append(o.last, shown(r.text(), keptLineLength))
	}
	if strings.HasPrefix(r.message, "panic: ") || strings.HasPrefix(r.message, "fatal error: ") {
		o.panicking = true
	}
	if o.panicking && r.level == slog.LevelInfo {
		r.level = slog.LevelError
	}
	left, ok := o.allow(time.Now())
	o.mu.Unlock()
	if left > 0 {
		o.logger.Warn("lines of the plugin's output were left out", "lines", left)
	}
	if ok && o.said != nil {
		o.said(r.text())
	}
	if ok {
		o.logger.LogAttrs(context.Background(), r.level, r.message, append(r.attrs, slog.String("stream", stream))...)
	}
}

// allow reports whether another line may be logged in this second, and how many were left out in the last one.
func (o *output) allow(now time.Time) (left int, ok bool) {
	if now.Sub(o.second) >= time.Second {
		left, o.left, o.logged, o.second = o.left, 0, 0, now
	}
	if o.logged >= maxLinesPerSecond {
		o.left++
		return left, false
	}
	o.logged++
	return left, true
}

func (r *guardedRunner) handshake() *handshakeLine {
	r.output.mu.Lock()
	defer r.output.mu.Unlock()
	return r.output.line
}

func (r *guardedRunner) startupError() string {
	r.output.mu.Lock()
	defer r.output.mu.Unlock()
	return r.output.startupError
}

func (r *guardedRunner) lastLines() []string {
	r.output.mu.Lock()
	defer r.output.mu.Unlock()
	return append([]string(nil), r.output.last...)
}

// lines returns a writer for output that go-plugin passes on.
func (r *guardedRunner) lines(stream string) io.Writer {
	return &lineWriter{onLine: func(line []byte) { r.output.logLine(stream, line) }}
}

type lineWriter struct {
	onLine  func([]byte)
	pending []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.pending = append(w.pending, p...)
	for {
		i := bytes.IndexByte(w.pending, '\n')
		if i < 0 && len(w.pending) < maxLine {
			return len(p), nil
		}
		if i < 0 {
			i = len(w.pending) - 1
		}
		if line := bytes.TrimRight(w.pending[:i+1], "\r\n"); len(line) > 0 {
			w.onLine(line)
		}
		w.pending = w.pending[i+1:]
	}
}

func shown(text string, limit int) string {
	return show.SanitizeLine(truncate.Shorten(strings.ToValidUTF8(text, "\uFFFD"), limit), 2*limit)
}
