// Package telemetry reports calls to a program that sends traces to an OpenTelemetry collector, if
// OTEL_EXPORTER_OTLP_ENDPOINT is set.
//
// That program is toolhost-otel (package internal/face/telemetry/otlp), because linking the
// OpenTelemetry SDK slows down every start.
package telemetry

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	// DefaultPatience is how long Close waits for a collector.
	DefaultPatience = 3 * time.Second
	// waiting bounds the lines queued for a slow program; more are dropped.
	waiting = 4096
)

// Asked reports whether the environment asks for telemetry.
func Asked() bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" && os.Getenv("OTEL_SDK_DISABLED") != "true"
}

// Options configures a Relay. Binary is required.
type Options struct {
	// Binary is the absolute path of toolhost-otel.
	Binary string
	// Logger receives failures to reach the collector. Nil discards.
	Logger *slog.Logger
	// Patience bounds Close. Zero means DefaultPatience.
	Patience time.Duration
}

// Relay passes on events of calls. It is safe for concurrent use; a nil Relay does nothing. Only Close
// blocks.
type Relay struct {
	options Options
	cmd     *exec.Cmd
	ended   chan struct{} // closed when the program ended

	mu      sync.Mutex
	lines   chan Line
	closed  bool
	lastID  uint64
	dropped int
}

// Start starts the program. It ends with the Relay or with this process.
func Start(options Options) (*Relay, error) {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Patience <= 0 {
		options.Patience = DefaultPatience
	}
	r := &Relay{options: options, lines: make(chan Line, waiting), ended: make(chan struct{}),
		cmd: exec.Command(options.Binary)}
	in, err := r.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := r.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go r.write(in)
	go r.listen(said)
	return r, nil
}

// write passes on lines until the queue is closed.
func (r *Relay) write(in io.WriteCloser) {
	defer in.Close()
	out := bufio.NewWriter(in)
	encoder := json.NewEncoder(out)
	broken := false
	for line := range r.lines {
		if broken {
			continue
		}
		err := encoder.Encode(line)
		if err == nil && len(r.lines) == 0 {
			err = out.Flush()
		}
		broken = err != nil
	}
	_ = out.Flush()
}

// listen logs the program's complaints, and notes its end.
func (r *Relay) listen(said io.Reader) {
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		r.options.Logger.Warn("telemetry was not sent", "error", lines.Text())
	}
	_, _ = io.Copy(io.Discard, said)
	_ = r.cmd.Wait()
	close(r.ended)
}

// enqueue queues a line, unless the queue is full, and returns its ID.
func (r *Relay) enqueue(line Line) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return 0
	}
	if line.ID == 0 {
		r.lastID++
		line.ID = r.lastID
	}
	line.At = time.Now()
	select {
	case r.lines <- line:
	default:
		r.dropped++
	}
	return line.ID
}

// Close sends the rest, within Options.Patience.
func (r *Relay) Close(ctx context.Context) {
	if r == nil {
		return
	}
	r.mu.Lock()
	closed, dropped := r.closed, r.dropped
	r.closed = true
	r.mu.Unlock()
	if closed {
		return
	}
	close(r.lines)
	if dropped > 0 {
		r.options.Logger.WarnContext(ctx, "telemetry was dropped", "lines", dropped)
	}
	select {
	case <-r.ended:
	case <-time.After(r.options.Patience):
		r.options.Logger.WarnContext(ctx, "telemetry was not sent", "error", errors.New("the collector is too slow"))
		_ = r.cmd.Process.Kill()
		<-r.ended
	}
}
