// Package worker runs a fleet's sessions: each is a host with its own workspace, confined as usual.
package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/internal/face/telemetry"
)

// Options configure a worker.
type Options struct {
	Link fleet.Link
	// Key is the name of the worker's key.
	Key string
	// Dir is where workspaces are made.
	Dir string
	// Slots limits the running calls, Queue the waiting ones, Sessions the sessions.
	Slots, Queue, Sessions int
	Labels                 map[string]string
	// Directories may be workspaces, and so may directories below them.
	Directories []string
	// Idle is the time after which an unused session is packed and given up.
	Idle time.Duration
	// PackAfter is how long after a change a pack is made.
	PackAfter time.Duration
	// TaskAfter is when a call becomes a task, see mcpserve.Options.
	TaskAfter time.Duration
	// Drain is how long a session that is given up waits for its background tasks.
	Drain time.Duration
	// Telemetry traces and counts calls. May be nil.
	Telemetry *telemetry.Relay
	Version   string
	Logger    *slog.Logger
}

// Worker is a running worker.
type Worker struct {
	options Options
	name    fleet.Worker
	logger  *slog.Logger
	nc      *nats.Conn
	store   *store

	mu        sync.Mutex
	sessions  map[string]*session
	exchanges map[string]*exchange
	parts     map[string]*assembly
	transfers map[string]*transfer
	gateways  map[string]int // heartbeats that each gateway has missed
	draining  bool
	cordoned  bool
	capacity  capacity

	calls     runningCalls
	slots     chan struct{}
	answering chan struct{} // parts
	obeying   chan struct{} // orders
	queued    atomic.Int64
	running   atomic.Int64
	ticked    atomic.Int64 // when the worker last knew that it is alive, since began
	began     time.Time
	inDoubt   atomic.Bool // it may have lost sessions since it last asked
	asking    sync.Mutex
	deciding  sync.Mutex      // held while a call is decided on
	authority string          // the hub's, who knows the operators
	settled   map[string]bool // decisions taken in this run: they are for no other
	unloading chan struct{}   // limits the sessions packed and given up concurrently
	life      context.Context
	end       context.CancelFunc
	drained   chan struct{}
	once      sync.Once     // closes drained
	drains    chan struct{} // holds a token while sessions are given up
}

// Start connects a worker.
func Start(ctx context.Context, o Options) (*Worker, error) {
	w := &Worker{
		options: o, name: fleet.NewWorker(o.Key, strings.ToLower(rand.Text()[:10])), logger: o.Logger,
		sessions: make(map[string]*session), exchanges: make(map[string]*exchange),
		parts: make(map[string]*assembly), transfers: make(map[string]*transfer), gateways: make(map[string]int),
		slots: make(chan struct{}, o.Slots), answering: make(chan struct{}, partsAtOnce),
		obeying: make(chan struct{}, ordersAtOnce), began: time.Now(),
		drained: make(chan struct{}), drains: make(chan struct{}, 1), unloading: make(chan struct{}, maxUnloading),
		settled: make(map[string]bool),
	}
	w.calls = runningCalls{open: make(map[string]*runningCall), unsure: make(map[string]bool)}
	w.life, w.end = context.WithCancel(context.WithoutCancel(ctx))
	link := o.Link
	link.Name, link.Inbox = "worker "+string(w.name), w.name.InboxPrefix()
	link.Changed = func(bool) { w.inDoubt.Store(true) }
	var err error
	if w.authority, err = fleet.ReadAuthority(link.KeyFile); err != nil {
		w.logger.Warn("operators cannot decide on calls that wait here", "error", err)
	}
	if w.nc, err = link.Connect(ctx); err != nil {
		w.end()
		return nil, err
	}
	w.store = &store{worker: w, via: make(map[string]jetstream.KeyValue)}
	if w.store.any, err = fleet.WorkerCalls(ctx, w.nc, w.name, fleet.AnyGateway); err != nil {
		w.Kill()
		return nil, err
	}
	if _, err = w.nc.Subscribe(w.name.WorkSubject(), w.handleMessage); err != nil {
		w.Kill()
		return nil, err
	}
	if _, err = w.nc.Subscribe(w.name.DecideSubject("*"), w.questioned()); err != nil {
		w.Kill()
		return nil, err
	}
	if _, err = w.nc.Subscribe(fleet.GatewaySubject("*"), w.heard); err != nil {
		w.Kill()
		return nil, err
	}
	w.tick()
	go w.beats()
	go w.pollFiles()
	return w, nil
}

// Name returns the worker's name in the fleet.
func (w *Worker) Name() fleet.Worker { return w.name }

// Wait waits until ctx ends or the worker is drained, and then ends it.
func (w *Worker) Wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-w.drained:
	}
	w.Close()
}

// Kill ends the worker as if its machine had gone.
func (w *Worker) Kill() {
	w.end()
	if w.nc != nil {
		w.nc.Close()
	}
}

// lastCalls limits how long a worker that ends waits for its calls.
const lastCalls = 30 * time.Second

// Close drains the worker and ends it.
func (w *Worker) Close() {
	ctx, cancel := context.WithTimeout(w.life, lastCalls+w.options.Drain)
	defer cancel()
	w.Drain(ctx)
	w.end()
	w.nc.Close()
}

// tick records that the worker is alive. After a gap it may have lost its sessions.
func (w *Worker) tick() {
	now := int64(time.Since(w.began))
	if before := w.ticked.Swap(now); now-before > int64(fleet.Lease/2) {
		w.inDoubt.Store(true)
	}
}

func (w *Worker) beats() {
	ticker := time.NewTicker(fleet.Heartbeat)
	defer ticker.Stop()
	for n := 0; ; n++ {
		w.beat(n%countEvery == 0)
		select {
		case <-w.life.Done():
			return
		case <-ticker.C:
		}
		w.tick()
		go w.ask()
		if n%2 == 0 && w.nc.FlushTimeout(fleet.Heartbeat) == nil { // or the hub stands still
			w.cutSilent(2)
		}
		w.forget()
	}
}

func (w *Worker) heard(msg *nats.Msg) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gateways[strings.TrimPrefix(msg.Subject, fleet.GatewaySubject(""))] = 0
}

// cutSilent cuts answers to gateways that were silent for a lease, after that many
// further heartbeats: that frees slots and streams.
func (w *Worker) cutSilent(beats int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.gateways {
		if w.gateways[name] += beats; w.gateways[name] <= int(fleet.Lease/fleet.Heartbeat) {
			continue
		}
		delete(w.gateways, name)
		for _, ex := range w.exchanges {
			if ex.gateway == name {
				ex.cut()
			}
		}
	}
}

func (w *Worker) beat(count bool) {
	w.mu.Lock()
	if count {
		w.count()
	}
	beat := fleet.Beat{Version: w.options.Version, Labels: w.options.Labels, Slots: w.options.Slots,
		Running: int(w.running.Load()), Queued: int(w.queued.Load()), Sessions: len(w.sessions),
		Draining: w.draining, Cordoned: w.cordoned || w.isFull()}
	w.mu.Unlock()
	data, _ := json.Marshal(beat)
	_ = w.nc.Publish(w.name.BeatSubject(), data)
}

// handleMessage handles a message. It must not block.
func (w *Worker) handleMessage(msg *nats.Msg) {
	switch msg.Header.Get(fleet.KindHeader) {
	case fleet.KindRequest, fleet.KindMore:
		if env := w.assemble(msg); env != nil {
			w.begin(env)
		}
	case fleet.KindAck, fleet.KindResume, fleet.KindCancel:
		w.mu.Lock()
		ex := w.exchanges[msg.Header.Get("Id")]
		w.mu.Unlock()
		w.about(ex, msg)
	case fleet.KindPart:
		w.among(w.answering, func() { w.answerPart(msg) })
	case fleet.KindControl:
		var c fleet.Control
		if json.Unmarshal(msg.Data, &c) == nil {
			w.among(w.obeying, func() { w.control(c) })
		}
	}
}

// Limits of gateways' parts and orders that are handled concurrently. Others are dropped, as by the
// network: a part is asked for again.
const (
	partsAtOnce  = 256
	ordersAtOnce = 256
)

func (w *Worker) among(slots chan struct{}, do func()) {
	select {
	case slots <- struct{}{}:
		go func() {
			defer func() { <-slots }()
			do()
		}()
	default:
		w.logger.Warn("a message of a gateway is dropped, since too many are handled")
	}
}

func (w *Worker) about(ex *exchange, msg *nats.Msg) {
	var n int
	_, _ = fmt.Sscan(msg.Header.Get("N"), &n)
	switch kind := msg.Header.Get(fleet.KindHeader); {
	case ex == nil && kind == fleet.KindResume:
		data, _ := json.Marshal(fleet.Frame{Refused: fleet.RefusedUnknown})
		_ = w.nc.Publish(msg.Header.Get("Back"), data)
	case ex == nil:
	case kind == fleet.KindAck:
		ex.acked(n)
	case kind == fleet.KindResume:
		ex.resend(n)
	case kind == fleet.KindCancel:
		ex.cancel()
	}
}

type assembly struct {
	data  []byte
	next  int
	total int
	since time.Time
}

// Limits of requests in parts.
const (
	mostParts      = 64
	mostAssemblies = 256
	partsWithin    = 30 * time.Second
)

// assemble returns the request that a message completes, nil if incomplete.
func (w *Worker) assemble(msg *nats.Msg) *fleet.Envelope {
	var part, total int
	_, _ = fmt.Sscan(msg.Header.Get("Part"), &part)
	_, _ = fmt.Sscan(msg.Header.Get("Parts"), &total)
	data := msg.Data
	if total > 1 {
		id := msg.Header.Get("Id")
		w.mu.Lock()
		a := w.parts[id]
		if part == 0 && total <= mostParts && len(w.parts) < mostAssemblies {
			a = &assembly{total: total, since: time.Now()}
			w.parts[id] = a
		}
		if a == nil || part != a.next || total != a.total {
			delete(w.parts, id)
			w.mu.Unlock()
			return nil
		}
		a.data, a.next = append(a.data, data...), part+1
		whole := a.next == a.total
		if whole {
			delete(w.parts, id)
		}
		w.mu.Unlock()
		if !whole {
			return nil
		}
		data = a.data
	}
	env := new(fleet.Envelope)
	if json.Unmarshal(data, env) != nil || env.ID == "" || env.Session == "" {
		return nil
	}
	return env
}

// begin answers a request, once for each ID.
func (w *Worker) begin(env *fleet.Envelope) {
	w.mu.Lock()
	if known := w.exchanges[env.ID]; known != nil {
		w.mu.Unlock()
		known.resend(0)
		return
	}
	ex := newExchange(w, env)
	w.exchanges[env.ID] = ex
	if _, known := w.gateways[ex.gateway]; !known {
		w.gateways[ex.gateway] = 0
	}
	w.mu.Unlock()
	go ex.run()
}

// keptAfter is how long an answer is kept for a gateway that may have missed its end.
const keptAfter = time.Minute

// maxUnloading limits the sessions packed and given up concurrently.
const maxUnloading = 128

func (w *Worker) forget() {
	now := time.Now()
	var idle []*session
	w.mu.Lock()
	for id, ex := range w.exchanges {
		if ex.over(now) {
			delete(w.exchanges, id)
		}
	}
	for id, a := range w.parts {
		if now.Sub(a.since) > partsWithin {
			delete(w.parts, id)
		}
	}
	for _, s := range w.sessions {
		if len(idle)+len(w.unloading) < maxUnloading && s.idleFor(now) > w.options.Idle {
			idle = append(idle, s)
		}
	}
	w.mu.Unlock()
	for _, s := range idle {
		go w.releaseIdle(s)
	}
}

func (w *Worker) control(c fleet.Control) {
	w.mu.Lock()
	s := w.sessions[c.Session]
	switch c.Action {
	case "cordon":
		w.cordoned = true
	case "uncordon":
		w.cordoned = false
	}
	w.mu.Unlock()
	switch {
	case c.Action == "drain":
		w.Drain(w.life)
		w.once.Do(func() { close(w.drained) })
	case c.Action == "release" && s != nil:
		w.release(w.life, s)
	case c.Action == "drop" && s != nil && s.epoch() < c.Epoch:
		w.dropLost(c.Session, s.epoch())
	case c.Action == "pack" && s != nil:
		s.pack(w.life)
	}
	w.beat(false)
}

// Drain gives up all sessions: calls end, workspaces are packed, new sessions are refused.
// Concurrent calls wait for the end.
func (w *Worker) Drain(ctx context.Context) {
	select {
	case w.drains <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-w.drains }()
	w.mu.Lock()
	w.draining = true
	var all []*session
	for _, s := range w.sessions {
		all = append(all, s)
	}
	w.mu.Unlock()
	w.beat(false)
	var unloading sync.WaitGroup
	for _, s := range all {
		unloading.Go(func() { w.release(ctx, s) })
	}
	unloading.Wait()
}
