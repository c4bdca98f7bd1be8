package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/fleet"
)

// exchange is a request with its answer. The answer goes out in frames, which are
// kept until the gateway has them.
type exchange struct {
	worker *Worker
	env    *fleet.Envelope
	ctx    context.Context
	cancel context.CancelFunc

	mu     sync.Mutex
	room   *sync.Cond
	frames [][]byte // from base on
	base   int
	ended  time.Time

	wrote  bool // that follows is the writer's own
	header http.Header
	status int
	buffer bytes.Buffer
}

func newExchange(w *Worker, env *fleet.Envelope) *exchange {
	ex := &exchange{worker: w, env: env, header: make(http.Header)}
	ex.room = sync.NewCond(&ex.mu)
	ex.ctx, ex.cancel = context.WithCancel(w.life)
	context.AfterFunc(ex.ctx, ex.room.Broadcast)
	return ex
}

// send sends a frame. It waits while too many are under way.
func (ex *exchange) send(f fleet.Frame) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	for len(ex.frames) >= fleet.Window && ex.ctx.Err() == nil {
		ex.room.Wait()
	}
	if ex.ctx.Err() != nil && !f.End {
		return
	}
	f.Seq = ex.base + len(ex.frames)
	data, err := json.Marshal(f)
	if err != nil {
		return
	}
	ex.frames = append(ex.frames, data)
	if f.End {
		ex.ended = time.Now()
	}
	_ = ex.worker.nc.Publish(ex.env.Back, data)
}

// acked drops the frames before n.
func (ex *exchange) acked(n int) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if drop := n - ex.base; drop > 0 && drop <= len(ex.frames) {
		ex.frames, ex.base = ex.frames[drop:], n
		ex.room.Broadcast()
	}
}

// resend sends the frames from n on again.
func (ex *exchange) resend(n int) {
	ex.acked(n)
	ex.mu.Lock()
	defer ex.mu.Unlock()
	for _, data := range ex.frames {
		_ = ex.worker.nc.Publish(ex.env.Back, data)
	}
}

// over reports whether nobody can want the answer any more.
func (ex *exchange) over(now time.Time) bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return !ex.ended.IsZero() && (len(ex.frames) == 0 || now.Sub(ex.ended) > keptAfter)
}

func (ex *exchange) refuse(why string, retry time.Duration, text string) {
	ex.send(fleet.Frame{Refused: why, Retry: retry, Data: []byte(text), End: true})
}

// run answers the request.
func (ex *exchange) run() {
	defer ex.cancel()
	w := ex.worker
	s, why, text := w.enter(ex.ctx, ex.env)
	if s == nil {
		ex.refuse(why, 100*time.Millisecond, text)
		return
	}
	defer s.leaveAs(ex.env.Method)
	s.wake()
	called := func() {}
	if ex.env.Header.Get(fleet.CallHeader) != "" {
		counted := sync.OnceFunc(func() { s.calls.Add(-1) })
		defer counted()
		if n := s.calls.Add(1); ex.env.Calls > 0 && n > int64(ex.env.Calls) {
			ex.refuse(fleet.RefusedBusy, time.Second,
				fmt.Sprintf("the session has %d calls at one time, which is its limit", ex.env.Calls))
			return
		}
		release, ok := w.slot(ex.ctx)
		if !ok {
			ex.refuse(fleet.RefusedBusy, time.Second, "")
			return
		}
		called = sync.OnceFunc(func() {
			release()
			counted()
		})
		defer called()
		ex.env.Header.Set(fleet.GatewayHeader, gatewayOf(ex.env.Back))
	}
	r, err := httpRequest(ex.ctx, ex.env.Method, s.uri(ex.env.URL), ex.env.Header, ex.env.Body)
	if err != nil {
		ex.refuse(fleet.RefusedFailed, 0, err.Error())
		return
	}
	s.handler.ServeHTTP(ex, r)
	if ex.env.Method == http.MethodDelete && ex.status < 300 {
		defer func() { go w.drop(s.key, s.epoch()) }()
	}
	called() // or whoever has the whole answer and calls again could hear that there is no room
	ex.finish()
}

// httpRequest is a request as toolhost serve would get it from this machine.
func httpRequest(ctx context.Context, method, uri string, header http.Header, body []byte) (*http.Request, error) {
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil, err
	}
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, net.Addr(&net.UnixAddr{Name: "fleet", Net: "unix"}))
	r := &http.Request{Method: method, URL: u, Host: "localhost", Header: header, Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)), RemoteAddr: "fleet"}
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	return r.WithContext(ctx), nil
}

// Header implements http.ResponseWriter.
func (ex *exchange) Header() http.Header { return ex.header }

// WriteHeader implements http.ResponseWriter.
func (ex *exchange) WriteHeader(status int) {
	if ex.status == 0 {
		ex.status = status
	}
}

// pieceSize is how much of an answer goes into one frame, in bytes.
const pieceSize = 256 << 10

// Write implements http.ResponseWriter.
func (ex *exchange) Write(p []byte) (int, error) {
	ex.WriteHeader(http.StatusOK)
	for rest := p; len(rest) > 0; {
		n := min(len(rest), pieceSize-ex.buffer.Len())
		ex.buffer.Write(rest[:n])
		rest = rest[n:]
		if ex.buffer.Len() >= pieceSize {
			ex.Flush()
		}
	}
	return len(p), ex.ctx.Err()
}

// Flush implements http.Flusher.
func (ex *exchange) Flush() { ex.flush(false) }

func (ex *exchange) finish() { ex.flush(true) }

func (ex *exchange) flush(end bool) {
	f := fleet.Frame{Data: bytes.Clone(ex.buffer.Bytes()), End: end}
	ex.buffer.Reset()
	if !ex.wrote {
		ex.wrote = true
		ex.WriteHeader(http.StatusOK)
		f.Status, f.Header = ex.status, ex.header
	}
	ex.send(f)
}

// slot waits for a place to run a call in. It fails where too many wait.
func (w *Worker) slot(ctx context.Context) (release func(), ok bool) {
	select {
	case w.slots <- struct{}{}:
	default:
		if w.queued.Add(1) > int64(w.options.Queue) {
			w.queued.Add(-1)
			return nil, false
		}
		defer w.queued.Add(-1)
		select {
		case w.slots <- struct{}{}:
		case <-ctx.Done():
			return nil, false
		}
	}
	w.running.Add(1)
	return func() {
		w.running.Add(-1)
		<-w.slots
	}, true
}
