package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
)

// exchange is a request with its answer, whose frames are kept until the gateway has them.
type exchange struct {
	worker  *Worker
	env     *fleet.Envelope
	ctx     context.Context
	cancel  context.CancelFunc
	gateway string
	done    chan struct{} // closed when the request is answered
	moved   atomic.Bool   // the call did not run here, and is to be made elsewhere

	mu     sync.Mutex
	isCut  bool               // the gateway was silent for a lease
	stream string             // name of the event stream, once known
	call   context.CancelFunc // cancels the call, nil before it begins
	called chan struct{}      // closed when the call has ended
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
	ex := &exchange{worker: w, env: env, header: make(http.Header), gateway: gatewayOf(env.Back),
		done: make(chan struct{})}
	ex.room = sync.NewCond(&ex.mu)
	ex.ctx, ex.cancel = context.WithCancel(w.life)
	context.AfterFunc(ex.ctx, ex.room.Broadcast)
	return ex
}

// send sends a frame. It waits while too many are unacknowledged.
func (ex *exchange) send(f fleet.Frame) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	for len(ex.frames) >= fleet.Window && ex.ctx.Err() == nil {
		ex.room.Wait()
	}
	if ex.ctx.Err() != nil && (!f.End || ex.isCut) {
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

func (ex *exchange) acked(n int) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if drop := n - ex.base; !ex.isCut && drop > 0 && drop <= len(ex.frames) {
		ex.frames, ex.base = ex.frames[drop:], n
		ex.room.Broadcast()
	}
}

func (ex *exchange) resend(n int) {
	ex.acked(n)
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.isCut {
		data, _ := json.Marshal(fleet.Frame{Seq: n, Refused: fleet.RefusedCut, End: true})
		_ = ex.worker.nc.Publish(ex.env.Back, data)
		return
	}
	for _, data := range ex.frames {
		_ = ex.worker.nc.Publish(ex.env.Back, data)
	}
}

// cut ends an answer whose gateway was silent for a lease. The call goes on, as when a client hangs up.
func (ex *exchange) cut() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.ended.IsZero() {
		ex.isCut, ex.ended, ex.frames = true, time.Now(), [][]byte{nil}
		ex.cancel()
	}
}

// begin starts the exchange's call. The context ends when another attempt replaces this one.
func (ex *exchange) begin(ctx context.Context) (_ context.Context, end func()) {
	if ex == nil {
		return ctx, func() {}
	}
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ctx, ex.call = context.WithCancel(ctx)
	ex.called = make(chan struct{})
	cancel, called := ex.call, ex.called
	return ctx, func() {
		cancel()
		close(called)
	}
}

// replace ends another attempt at the same call, and waits for its end.
func (ex *exchange) replace(id string) {
	ex.worker.mu.Lock()
	old := ex.worker.exchanges[id]
	ex.worker.mu.Unlock()
	if old == nil {
		return
	}
	old.cancel()
	select {
	case <-old.done:
	case <-ex.ctx.Done():
	}
	old.mu.Lock()
	cancel, called := old.call, old.called
	old.mu.Unlock()
	if cancel == nil {
		return
	}
	cancel()
	select {
	case <-called:
	case <-ex.ctx.Done():
	}
}

// takeOver ends the answer with the event stream that a request resumes.
func (ex *exchange) takeOver(lastEvent string) {
	stream, ok := streamOf(lastEvent)
	if !ok {
		return
	}
	var holders []*exchange
	ex.worker.mu.Lock()
	ex.mu.Lock()
	ex.stream = stream // it may be resumed again before an event passes
	ex.mu.Unlock()
	for _, other := range ex.worker.exchanges {
		if other != ex && other.env.Session == ex.env.Session && other.holds(stream) {
			holders = append(holders, other)
		}
	}
	ex.worker.mu.Unlock()
	for _, other := range holders {
		other.cancel()
		select {
		case <-other.done:
		case <-ex.ctx.Done():
		}
	}
}

func (ex *exchange) holds(stream string) bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return ex.ended.IsZero() && ex.stream == stream
}

func streamOf(event string) (stream string, ok bool) {
	i := strings.LastIndexByte(event, '_')
	if i < 0 {
		return "", false
	}
	return "stream " + event[:i], true
}

// noteStream reads the stream's name from the first event with an ID.
func (ex *exchange) noteStream(p []byte) {
	if ex.stream != "" || !strings.HasPrefix(ex.header.Get("Content-Type"), "text/event-stream") {
		return
	}
	rest, ok := bytes.CutPrefix(p, []byte("id: "))
	if !ok {
		_, rest, ok = bytes.Cut(p, []byte("\nid: "))
	}
	if !ok {
		return
	}
	id, _, _ := bytes.Cut(rest, []byte("\n"))
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.stream, _ = streamOf(string(id))
}

// over reports whether the answer is no longer needed.
func (ex *exchange) over(now time.Time) bool {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	return !ex.ended.IsZero() && (len(ex.frames) == 0 || now.Sub(ex.ended) > keptAfter)
}

func (ex *exchange) refuse(why string, retry time.Duration, text string) {
	ex.send(fleet.Frame{Refused: why, Retry: retry, Data: []byte(text), End: true})
}

func (ex *exchange) run() {
	defer close(ex.done)
	defer ex.cancel()
	w := ex.worker
	if ex.env.Replaces != "" {
		ex.replace(ex.env.Replaces)
	}
	s, why, text := w.enter(ex.ctx, ex.env)
	if s == nil {
		ex.refuse(why, 100*time.Millisecond, text)
		return
	}
	defer s.leaveAs(ex.env.Method)
	s.wake()
	called := func() {}
	if ex.env.Header.Get(fleet.CallHeader) != "" {
		release, ok := w.slot(ex.ctx)
		if !ok {
			ex.refuse(fleet.RefusedBusy, time.Second, "")
			return
		}
		called = sync.OnceFunc(release)
		defer called()
		ex.env.Header.Set(fleet.GatewayHeader, ex.gateway)
	}
	if last := ex.env.Header.Get("Last-Event-Id"); last != "" {
		ex.takeOver(last)
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
	if ex.moved.Load() {
		ex.refuse(fleet.RefusedMoving, 0, "")
		return
	}
	called() // before the answer is complete, or the next call could find no room
	ex.finish()
}

// httpRequest returns a request as toolhost serve would get it from this machine.
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

const pieceSize = 256 << 10 // bytes

// Write implements http.ResponseWriter.
func (ex *exchange) Write(p []byte) (int, error) {
	if ex.moved.Load() {
		return len(p), nil
	}
	ex.WriteHeader(http.StatusOK)
	ex.noteStream(p)
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
func (ex *exchange) Flush() {
	if !ex.moved.Load() {
		ex.flush(false)
	}
}

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

// slot waits for a slot to run a call. It fails if too many wait.
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
