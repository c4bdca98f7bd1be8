// Package gateway takes a fleet's MCP requests over HTTP and has each session's worker answer them.
// It is stateless: every gateway serves every session.
package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/internal/face/telemetry"
)

// Options configure a gateway.
type Options struct {
	Link     fleet.Link
	Config   *Config
	Replicas int
	// CallLimit limits a call without progress. Zero means DefaultCallLimit.
	CallLimit time.Duration
	// Telemetry traces and counts calls. May be nil.
	Telemetry *telemetry.Relay
	Logger    *slog.Logger
}

// DefaultCallLimit is how long a call may show no progress.
const DefaultCallLimit = 10 * time.Minute

// Gateway is the mcpserve.Backend of an HTTP server.
type Gateway struct {
	options Options
	logger  *slog.Logger
	name    string
	nc      *nats.Conn
	store   *fleet.Store
	life    context.Context
	end     context.CancelFunc
	metrics metrics
	recent  recent
	echo    atomic.Bool // the hub has returned the last tick

	mu        sync.Mutex
	workers   map[fleet.Worker]*peer
	lost      map[fleet.Worker]bool // workers that were lost, or never heard within a lease
	exchanges map[string]*exchange
	limits    map[string]*usage
}

// peer is a worker as the gateway hears it.
type peer struct {
	name   fleet.Worker
	beat   fleet.Beat
	missed int           // heartbeats, by the gateway's own ticks
	gone   chan struct{} // closed when the worker is lost
}

func dial(ctx context.Context, o Options) (*Gateway, error) {
	g := &Gateway{options: o, logger: o.Logger, name: "gw-" + strings.ToLower(rand.Text()[:10]),
		workers: make(map[fleet.Worker]*peer), lost: make(map[fleet.Worker]bool),
		exchanges: make(map[string]*exchange), limits: make(map[string]*usage)}
	g.life, g.end = context.WithCancel(context.WithoutCancel(ctx))
	link := o.Link
	link.Name, link.Inbox = "gateway "+g.name, "_INBOX.gateway."+g.name
	var err error
	if g.nc, err = link.Connect(ctx); err != nil {
		g.end()
		return nil, err
	}
	return g, nil
}

// Start connects a gateway. It creates the hub's missing buckets.
func Start(ctx context.Context, o Options) (*Gateway, error) {
	g, err := dial(ctx, o)
	if err != nil {
		return nil, err
	}
	g.options.CallLimit = cmp.Or(o.CallLimit, DefaultCallLimit)
	if g.store, err = fleet.MakeStore(ctx, g.nc, max(o.Replicas, 1)); err != nil {
		g.Close()
		return nil, err
	}
	_, err1 := g.nc.Subscribe("beat.*.*", g.heard)
	_, err2 := g.nc.Subscribe("back."+g.name+".>", g.frame)
	_, err3 := g.nc.QueueSubscribe("ask.*.*", "gateways", g.bounded(questionsAtOnce, g.answer))
	_, err4 := g.nc.Subscribe(g.tickSubject(), func(*nats.Msg) { g.echo.Store(true) })
	_, err5 := g.nc.Subscribe("store."+g.name+".>", g.bounded(questionsAtOnce, g.forward))
	_, err6 := g.nc.QueueSubscribe("store."+fleet.AnyGateway+".>", "gateways", g.bounded(questionsAtOnce, g.forward))
	_, err7 := g.nc.QueueSubscribe("pack.*.*", "gateways", g.bounded(transfersAtOnce, g.pack))
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, g.nc.Flush()); err != nil {
		g.Close()
		return nil, err
	}
	go g.watch()
	go g.sweeps()
	return g, nil
}

// Limits of workers' messages that are handled concurrently. Others wait in the bounded subscription.
const (
	questionsAtOnce = 256
	transfersAtOnce = 64
)

func (g *Gateway) bounded(n int, handle func(*nats.Msg)) nats.MsgHandler {
	slots := make(chan struct{}, n)
	return func(msg *nats.Msg) {
		select {
		case slots <- struct{}{}:
		case <-g.life.Done():
			return
		}
		go func() {
			defer func() { <-slots }()
			handle(msg)
		}()
	}
}

// Name returns the gateway's name in the fleet.
func (g *Gateway) Name() string { return g.name }

// Close ends the gateway.
func (g *Gateway) Close() {
	g.end()
	if g.nc != nil {
		g.nc.Close()
	}
}

func (g *Gateway) heard(msg *nats.Msg) {
	var beat fleet.Beat
	if json.Unmarshal(msg.Data, &beat) != nil {
		return
	}
	name := fleet.FromSubject(msg.Subject)
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.workers[name]
	if p == nil {
		if g.ofKey(name) >= mostOfKey {
			return
		}
		p = &peer{name: name, gone: make(chan struct{})}
		g.workers[name] = p
	}
	p.beat, p.missed = beat, 0
	delete(g.lost, name)
}

// mostOfKey limits the workers that share a key: one that lies can claim to be many.
const mostOfKey = 256

func (g *Gateway) ofKey(name fleet.Worker) (n int) {
	for other := range g.workers {
		if other.Key() == name.Key() {
			n++
		}
	}
	return n
}

func (g *Gateway) tickSubject() string { return "tick." + g.name }

// watch announces the gateway, and finds lost workers. It counts its ticks, and those that the hub
// returned: if gateway or hub stood still, no worker counts as lost.
func (g *Gateway) watch() {
	ticker := time.NewTicker(fleet.Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-g.life.Done():
			return
		case <-ticker.C:
		}
		heard := g.echo.Swap(false)
		_ = g.nc.Publish(fleet.GatewaySubject(g.name), nil)
		if _ = g.nc.Publish(g.tickSubject(), nil); !heard {
			continue
		}
		g.mu.Lock()
		for name, p := range g.workers {
			if p.missed++; p.missed > int(fleet.Lease/fleet.Heartbeat) {
				delete(g.workers, name)
				g.noteLost(name)
				close(p.gone)
				g.metrics.workersLost.Add(1)
				g.logger.Warn("a worker is lost", "worker", name)
			}
		}
		g.mu.Unlock()
	}
}

// mostLost limits the remembered lost workers. A forgotten one costs a request a lease.
const mostLost = 10000

func (g *Gateway) noteLost(name fleet.Worker) {
	if len(g.lost) >= mostLost {
		clear(g.lost)
	}
	g.lost[name] = true
}

// settled is how long a gateway waits to hear an unknown worker.
const settled = 2*fleet.Heartbeat + fleet.Lease

// alive returns a worker, nil if lost. An unknown worker gets a lease, once.
func (g *Gateway) alive(ctx context.Context, name fleet.Worker) *peer {
	if name == "" {
		return nil
	}
	deadline := time.Now().Add(settled)
	for {
		g.mu.Lock()
		p, late := g.workers[name], time.Now().After(deadline)
		if p == nil && late {
			g.noteLost(name)
		}
		lost := g.lost[name]
		g.mu.Unlock()
		if p != nil || lost || ctx.Err() != nil {
			return p
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Ready returns an error unless the gateway reaches the hub and a worker.
func (g *Gateway) Ready() error {
	if !g.nc.IsConnected() {
		return errors.New("the hub cannot be reached")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.workers) == 0 {
		return errors.New("there is no worker; start one with toolhost worker")
	}
	return nil
}

var errNoWorker = errors.New("no worker has room for the session")

// placeWithin limits how long a session waits for a worker with room.
const placeWithin = 2 * time.Second

// placeSoon is place with a wait for a worker: one may just have started.
func (g *Gateway) placeSoon(ctx context.Context, labels map[string]string) (*peer, error) {
	deadline := time.Now().Add(placeWithin)
	for {
		p, err := g.place(labels)
		if err == nil || time.Now().After(deadline) || ctx.Err() != nil {
			return p, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// place chooses the least busy suitable worker for a session.
func (g *Gateway) place(labels map[string]string) (*peer, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var best *peer
	for _, p := range g.workers {
		if p.beat.Draining || p.beat.Cordoned || !fits(p.beat.Labels, labels) {
			continue
		}
		if best == nil || p.load() < best.load() {
			best = p
		}
	}
	if best == nil {
		return nil, errNoWorker
	}
	best.beat.Sessions++ // until it says so itself
	return best, nil
}

func (p *peer) load() int {
	return 1000*(p.beat.Running+p.beat.Queued)/max(p.beat.Slots, 1) + p.beat.Sessions
}

func fits(has, wanted map[string]string) bool {
	for name, value := range wanted {
		if has[name] != value {
			return false
		}
	}
	return true
}

// answer answers a worker's request, which may be only about its own sessions.
func (g *Gateway) answer(msg *nats.Msg) {
	if !fleet.FromSubject(msg.Subject).MayHear(msg.Reply) {
		return
	}
	ctx, cancel := context.WithTimeout(g.life, 5*time.Second)
	defer cancel()
	var ask fleet.Ask
	var reply fleet.Reply
	from := fleet.FromSubject(msg.Subject)
	if err := json.Unmarshal(msg.Data, &ask); err != nil {
		reply.Error = "the question cannot be read"
	} else if ask.Session != "" {
		if err := g.noted(ctx, from, ask); err != nil {
			reply.Error, reply.Foreign = err.Error(), errors.Is(err, errForeign)
		}
	}
	for key, epoch := range ask.Owned {
		record, _, err := g.read(ctx, key)
		if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) && !errors.Is(err, jetstream.ErrInvalidKey) {
			return // another gateway, or later
		}
		if err == nil && record.Worker == from && record.Epoch == epoch {
			reply.Owned = append(reply.Owned, key)
		}
	}
	data, _ := json.Marshal(reply)
	_ = msg.Respond(data)
}

// noted records a new pack, or a session that was given up.
func (g *Gateway) noted(ctx context.Context, from fleet.Worker, ask fleet.Ask) error {
	var before, tenant string
	err := g.change(ctx, ask.Session, func(r *fleet.Record) error {
		if r.Worker != from || r.Epoch != ask.Epoch {
			return errForeign
		}
		if before, tenant = r.Pack, r.Tenant; ask.Pack != "" {
			r.Pack, r.Packed = ask.Pack, ask.Packed
		}
		if ask.Release {
			r.Past, r.Worker, r.Restored = past(r), "", false
		}
		return nil
	})
	if err == nil && ask.Pack != "" && before != "" && before != ask.Pack {
		if err := g.forgetPack(ctx, tenant, ask.Session, before); err != nil { // Sweep removes it
			g.logger.Warn("an old pack was not removed", "session", ask.Session, "error", err)
		}
	}
	return err
}

// mostPast limits a session's remembered earlier workers. A repeated call from before them is unknown.
const mostPast = 256

func past(r *fleet.Record) []fleet.Worker {
	all := append(slices.DeleteFunc(r.Past, func(w fleet.Worker) bool { return w == r.Worker }), r.Worker)
	return all[max(0, len(all)-mostPast):]
}

func (g *Gateway) read(ctx context.Context, key string) (*fleet.Record, uint64, error) {
	entry, err := getEntry(ctx, g.store.Sessions, key)
	if err != nil {
		return nil, 0, err
	}
	record := new(fleet.Record)
	return record, entry.Revision(), json.Unmarshal(entry.Value(), record)
}

// getEntry reads an entry, and retries if the answer is lost.
func getEntry(ctx context.Context, bucket jetstream.KeyValue, key string) (entry jetstream.KeyValueEntry, err error) {
	err = fleet.Retry(ctx, func(ctx context.Context) error {
		entry, err = bucket.Get(ctx, key)
		return err
	})
	return entry, err
}

// putEntry replaces the entry of a revision, 0 for none, until there is an answer. If the
// first answer was lost, the second attempt conflicts with the first.
func putEntry(ctx context.Context, bucket jetstream.KeyValue, key string, data []byte, revision uint64) (is uint64,
	err error) {
	err = fleet.Retry(ctx, func(ctx context.Context) error {
		if revision == 0 {
			is, err = bucket.Create(ctx, key, data)
		} else {
			is, err = bucket.Update(ctx, key, data, revision)
		}
		return err
	})
	return is, err
}

// change changes a session's record, again if another change was faster.
func (g *Gateway) change(ctx context.Context, key string, edit func(*fleet.Record) error) error {
	for {
		record, revision, err := g.read(ctx, key)
		if err != nil {
			return err
		}
		if err := edit(record); err != nil {
			return err
		}
		if _, err = g.write(ctx, key, record, revision); !fleet.IsConflict(err) {
			return err
		}
	}
}

func (g *Gateway) write(ctx context.Context, key string, record *fleet.Record, revision uint64) (uint64, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return 0, err
	}
	return putEntry(ctx, g.store.Sessions, key, data, revision)
}

// known returns a session's record if just read, and its worker; nil if the store must be asked.
func (g *Gateway) known(key string) (*fleet.Record, *peer) {
	record := g.recent.get(key)
	if record == nil || record.Worker == "" {
		return nil, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return record, g.workers[record.Worker]
}

// home returns the record of a session with a live worker. If its own is lost, another takes over,
// with the workspace's last pack.
func (g *Gateway) home(ctx context.Context, key string) (*fleet.Record, *peer, error) {
	for {
		record, revision, err := g.read(ctx, key)
		if err != nil {
			return nil, nil, err
		}
		if p := g.alive(ctx, record.Worker); p != nil {
			return record, p, nil
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		p, err := g.placeSoon(ctx, record.Workspace.Labels)
		if err != nil {
			return nil, nil, err
		}
		before := record.Worker
		if before != "" {
			record.Past, record.Restored = past(record), true
			g.metrics.restored.Add(1)
		}
		record.Worker = p.name
		record.Epoch++
		_, err = g.write(ctx, key, record, revision)
		if fleet.IsConflict(err) {
			continue
		}
		if err == nil && before != "" {
			g.sendControl(before, fleet.Control{Action: "drop", Session: key, Epoch: record.Epoch})
		}
		return record, p, err
	}
}

func (g *Gateway) sendControl(name fleet.Worker, c fleet.Control) {
	data, _ := json.Marshal(c)
	msg := nats.NewMsg(name.WorkSubject())
	msg.Header.Set(fleet.KindHeader, fleet.KindControl)
	msg.Data = data
	_ = g.nc.PublishMsg(msg)
}
