package mcpserve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// A body is read whole before use, within a time and from a budget shared by all requests, so that slow
// or large ones cannot take others' memory or time.

const (
	// bodyFree is the size up to which a body is not counted, in bytes.
	bodyFree = 64 << 10
	// bodyBudget bounds the bodies held at one time, in bytes.
	bodyBudget = 64 << 20
)

type budget struct {
	mu   sync.Mutex
	left int64
}

func (b *budget) reserve(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.left {
		return false
	}
	b.left -= n
	return true
}

func (b *budget) release(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
}

type heldBody struct {
	*bytes.Reader
	data []byte
}

func (heldBody) Close() error { return nil }

func bodyOf(r *http.Request) []byte {
	if held, ok := r.Body.(heldBody); ok {
		return held.data
	}
	return nil
}

// readBody replaces the request's body by its content. release returns its part of the budget.
func (h *HTTP) readBody(w http.ResponseWriter, r *http.Request) (release func(), no *refusal) {
	if r.Body == nil || r.Body == http.NoBody {
		return func() {}, nil
	}
	if r.ContentLength > MaxMessage {
		return nil, refuseTooLarge(w)
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(h.options.Patience))
	meter := &meteredReader{from: http.MaxBytesReader(w, r.Body, MaxMessage), budget: &h.bodies}
	data, err := io.ReadAll(meter)
	if err != nil {
		meter.release()
		return nil, refuseBody(w, err, h.options.Patience)
	}
	_ = control.SetReadDeadline(time.Time{})
	r.Body = heldBody{bytes.NewReader(data), data}
	return meter.release, nil
}

var errBudget = errors.New("too much is being sent at once")

// meteredReader takes bytes beyond bodyFree from a budget.
type meteredReader struct {
	from        io.Reader
	budget      *budget
	read, taken int64
}

func (m *meteredReader) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.read += int64(n)
	if over := m.read - bodyFree - m.taken; over > 0 {
		if !m.budget.reserve(over) {
			return 0, errBudget
		}
		m.taken += over
	}
	return n, err
}

func (m *meteredReader) release() {
	m.budget.release(m.taken)
	m.taken = 0
}

func refuseTooLarge(w http.ResponseWriter) *refusal {
	w.Header().Set("Connection", "close")
	return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the message is longer than %d bytes", MaxMessage),
		"Send less in one call.")
}

// refuseBody returns why a body could not be read.
func refuseBody(w http.ResponseWriter, err error, patience time.Duration) *refusal {
	w.Header().Set("Connection", "close")
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuseTooLarge(w)
	}
	if errors.Is(err, errBudget) {
		no := refuse(http.StatusServiceUnavailable, errBudget.Error(),
			"Try again in a moment, or send less in one call.")
		no.header = map[string]string{"Retry-After": "1"}
		return no
	}
	return refuse(http.StatusRequestTimeout, fmt.Sprintf("the message did not arrive whole within %s", patience),
		"Send it again, faster or in smaller calls.")
}

// writePiece is how much of an answer shares one write deadline, in bytes.
const writePiece = 64 << 10

// patientWriter sets a deadline for each piece, and so drops a client that reads nothing.
type patientWriter struct {
	http.ResponseWriter
	patience time.Duration
}

// patiently makes w a patientWriter until done is called. HTTP/2 has its own flow control: there a
// deadline would end a silent stream.
func patiently(w http.ResponseWriter, r *http.Request, patience time.Duration) (_ http.ResponseWriter, done func()) {
	if r.ProtoMajor >= 2 {
		return w, func() {}
	}
	return &patientWriter{w, patience}, func() {
		var deadline time.Time
		server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
		if ok && server.WriteTimeout > 0 { // the server sets it again for the next request
			deadline = time.Now().Add(patience)
		}
		_ = http.NewResponseController(w).SetWriteDeadline(deadline)
	}
}

// Unwrap lets http.ResponseController through.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements io.Writer.
func (w *patientWriter) Write(p []byte) (written int, err error) {
	control := http.NewResponseController(w.ResponseWriter)
	for first := true; first || len(p) > 0 && err == nil; first = false {
		_ = control.SetWriteDeadline(time.Now().Add(w.patience))
		var n int
		n, err = w.ResponseWriter.Write(p[:min(len(p), writePiece)])
		written, p = written+n, p[n:]
	}
	return written, err
}
