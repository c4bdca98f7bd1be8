package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
)

// exchange is a request to a worker, whose answer comes in numbered frames; lost ones are asked for again.
type exchange struct {
	gateway *Gateway
	peer    *peer
	env     *fleet.Envelope
	frames  chan fleet.Frame

	mu   sync.Mutex
	next int  // next frame
	busy bool // frames or the request are being requested again
}

var (
	errLost   = errors.New("the worker is lost")
	errCut    = errors.New("the worker took this gateway for lost")
	errGone   = errors.New("the worker does not have the session any more")
	errMoving = errors.New("the session moves")
	errHangUp = errors.New("the client is gone")
	errLate   = errors.New("the call has taken too long")
)

type refusedError struct {
	why   string
	retry time.Duration
	text  string
}

func (e *refusedError) Error() string { return e.why }

// frame takes a frame of an answer. Only the asked worker can send it: a key's holder
// publishes only under its own name.
func (g *Gateway) frame(msg *nats.Msg) {
	rest := strings.TrimPrefix(msg.Subject, "back."+g.name+".")
	i := strings.LastIndexByte(rest, '.')
	if i < 0 {
		return
	}
	g.mu.Lock()
	ex := g.exchanges[rest[i+1:]]
	g.mu.Unlock()
	var f fleet.Frame
	if ex == nil || string(ex.peer.name) != rest[:i] || json.Unmarshal(msg.Data, &f) != nil {
		return
	}
	ex.mu.Lock()
	defer ex.mu.Unlock()
	switch {
	case f.Refused == fleet.RefusedUnknown:
		if ex.next == 0 {
			ex.once(func() { _ = ex.send() })
		}
	case f.Seq == ex.next:
		select {
		case ex.frames <- f:
			ex.next++
		default: // more than it may send
		}
	case f.Seq > ex.next:
		ex.once(ex.resume)
	}
}

// once requests missing frames in the background, unless in progress. The mutex must be held.
func (ex *exchange) once(do func()) {
	if ex.busy {
		return
	}
	ex.busy = true
	go func() {
		do()
		ex.mu.Lock()
		defer ex.mu.Unlock()
		ex.busy = false
	}()
}

func (g *Gateway) exchange(ctx context.Context, p *peer, env *fleet.Envelope, out *answer) error {
	ex := &exchange{gateway: g, peer: p, env: env, frames: make(chan fleet.Frame, fleet.Window+1)}
	g.mu.Lock()
	g.exchanges[env.ID] = ex
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		delete(g.exchanges, env.ID)
		g.mu.Unlock()
	}()
	if err := ex.send(); err != nil {
		return err
	}
	err := ex.follow(ctx, out)
	if errors.Is(err, errHangUp) {
		ex.publish(fleet.KindCancel, 0, nil)
	}
	return err
}

// Times after which a silent worker is asked for what may have been lost.
const (
	firstQuiet   = time.Second
	longestQuiet = 8 * time.Second
)

func (ex *exchange) follow(ctx context.Context, out *answer) error {
	quiet := firstQuiet
	timer := time.NewTimer(quiet)
	defer timer.Stop()
	seen := 0
	for {
		select {
		case f := <-ex.frames:
			if f.Refused != "" {
				ex.publish(fleet.KindAck, f.Seq+1, nil)
				return refused(f)
			}
			err := out.write(f)
			if seen++; f.End || seen%fleet.AckEvery == 0 {
				ex.publish(fleet.KindAck, f.Seq+1, nil)
			}
			if err != nil {
				return errHangUp
			}
			if f.End {
				return nil
			}
			quiet = firstQuiet
			timer.Reset(quiet)
		case <-timer.C:
			ex.resume()
			quiet = min(2*quiet, longestQuiet)
			timer.Reset(quiet)
		case <-ex.peer.gone:
			return errLost
		case <-ctx.Done():
			return errHangUp
		case <-ex.gateway.life.Done():
			return errHangUp
		}
	}
}

func refused(f fleet.Frame) error {
	switch f.Refused {
	case fleet.RefusedGone:
		return errGone
	case fleet.RefusedCut:
		return errCut
	}
	if f.Refused == fleet.RefusedMoving || f.Refused == fleet.RefusedStale {
		return errMoving
	}
	return &refusedError{f.Refused, f.Retry, string(f.Data)}
}

// resume asks for the frames from the next one on.
func (ex *exchange) resume() {
	ex.mu.Lock()
	next := ex.next
	ex.mu.Unlock()
	ex.publish(fleet.KindResume, next, nil)
}

func (ex *exchange) publish(kind string, n int, data []byte) {
	msg := nats.NewMsg(ex.peer.name.WorkSubject())
	msg.Header.Set(fleet.KindHeader, kind)
	msg.Header.Set("Id", ex.env.ID)
	msg.Header.Set("N", strconv.Itoa(n))
	msg.Header.Set("Back", ex.env.Back)
	msg.Data = data
	_ = ex.gateway.nc.PublishMsg(msg)
}

const partSize = 512 << 10 // bytes

func (ex *exchange) send() error {
	data, err := json.Marshal(ex.env)
	if err != nil {
		return err
	}
	parts := max(1, (len(data)+partSize-1)/partSize)
	for i := range parts {
		msg := nats.NewMsg(ex.peer.name.WorkSubject())
		kind := fleet.KindRequest
		if i > 0 {
			kind = fleet.KindMore
		}
		msg.Header.Set(fleet.KindHeader, kind)
		msg.Header.Set("Id", ex.env.ID)
		msg.Header.Set("Part", strconv.Itoa(i))
		msg.Header.Set("Parts", strconv.Itoa(parts))
		msg.Data = data[i*partSize : min(len(data), (i+1)*partSize)]
		if err := ex.gateway.nc.PublishMsg(msg); err != nil {
			return err
		}
	}
	return nil
}

// answer is the client's answer, from one worker or, if that was lost, the next.
type answer struct {
	w       http.ResponseWriter
	begun   bool
	events  bool // the answer is an event stream
	convert bool // JSON must be converted to an event
	// progress is called for each part of the answer, nil for requests without a limit.
	progress func()
}

// mayPass are the headers of a worker's answer that a client gets.
var mayPass = []string{"Content-Type", "Cache-Control", "Mcp-Session-Id", "Mcp-Protocol-Version", "Allow",
	"Retry-After",
	"X-Accel-Buffering"}

func (a *answer) write(f fleet.Frame) error {
	if a.progress != nil {
		a.progress()
	}
	if f.Status != 0 {
		a.head(f)
	}
	if len(f.Data) > 0 {
		data := f.Data
		if a.convert {
			data = event(data)
		}
		if _, err := a.w.Write(data); err != nil {
			return err
		}
	}
	if f.End && !a.events {
		return nil
	}
	return http.NewResponseController(a.w).Flush()
}

func (a *answer) head(f fleet.Frame) {
	events := strings.HasPrefix(f.Header.Get("Content-Type"), "text/event-stream")
	if a.begun {
		a.convert = a.events && !events
		return
	}
	a.begun, a.events = true, events
	for name, values := range f.Header {
		if slices.Contains(mayPass, http.CanonicalHeaderKey(name)) {
			a.w.Header()[http.CanonicalHeaderKey(name)] = values
		}
	}
	a.w.WriteHeader(f.Status)
}

func event(message []byte) []byte {
	return append(append([]byte("event: message\ndata: "), message...), "\n\n"...)
}

func (a *answer) message(status int, header map[string]string, message []byte) {
	if a.begun {
		if a.events {
			_, _ = a.w.Write(event(message))
		}
		return
	}
	for name, value := range header {
		a.w.Header().Set(name, value)
	}
	a.w.Header().Set("Content-Type", "application/json")
	a.w.WriteHeader(status)
	_, _ = a.w.Write(message)
}
