package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/host/tool"
)

// Observe connects to observe the fleet. It serves no clients or workers.
func Observe(ctx context.Context, o Options) (*Gateway, error) {
	g, err := dial(ctx, o)
	if err != nil {
		return nil, err
	}
	if g.store, err = fleet.OpenStore(ctx, g.nc); err == nil {
		_, err = g.nc.Subscribe("beat.*.*", g.heard)
	}
	if err == nil {
		err = g.nc.Flush()
	}
	if err != nil {
		g.Close()
		return nil, err
	}
	select {
	case <-time.After(2 * fleet.Heartbeat): // all live workers have sent a heartbeat
	case <-ctx.Done():
	}
	return g, nil
}

// Workers returns the live workers.
func (g *Gateway) Workers() map[fleet.Worker]fleet.Beat {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make(map[fleet.Worker]fleet.Beat, len(g.workers))
	for name, p := range g.workers {
		all[name] = p.beat
	}
	return all
}

// Sessions returns all sessions in the hub, by key.
func (g *Gateway) Sessions(ctx context.Context) (map[string]fleet.Record, error) {
	all := make(map[string]fleet.Record)
	return all, each(ctx, g.store.Sessions, func(key string, value []byte) error {
		var r fleet.Record
		err := json.Unmarshal(value, &r)
		all[key] = r
		return err
	})
}

// KeptCall is a call in the hub.
type KeptCall struct {
	Worker  string    `json:"worker"`
	Session string    `json:"session"`
	Tool    string    `json:"tool"`
	State   string    `json:"state"`
	At      time.Time `json:"at"`
}

// Calls returns all calls in the hub.
func (g *Gateway) Calls(ctx context.Context) (all []KeptCall, err error) {
	err = each(ctx, g.store.Calls, func(key string, value []byte) error {
		var c fleet.Call
		if err := json.Unmarshal(value, &c); err != nil {
			return err
		}
		parts := strings.Split(key, ".")
		if len(parts) == 4 {
			all = append(all, KeptCall{parts[0] + "." + parts[1], parts[2], c.Tool, c.State, c.At})
		}
		return nil
	})
	return all, err
}

// each calls take for every current entry of a bucket. Two of them may be StoreStep apart.
func each(ctx context.Context, bucket jetstream.KeyValue, take func(key string, value []byte) error) error {
	watch, err := bucket.WatchAll(ctx, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer func() { _ = watch.Stop() }()
	for {
		select {
		case entry := <-watch.Updates():
			if entry == nil {
				return nil
			}
			if err := take(entry.Key(), entry.Value()); err != nil {
				return err
			}
		case <-time.After(fleet.StoreStep):
			return nats.ErrTimeout
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Steer sends an order to a worker, or to the worker of a session.
func (g *Gateway) Steer(ctx context.Context, action, name string) error {
	if action == "move" {
		r, _, err := g.read(ctx, name)
		if errors.Is(err, jetstream.ErrKeyNotFound) || err == nil && r.Worker == "" {
			return tool.Errorf(tool.NotFound, "no worker has a session %s", name).
				Suggest("toolhost fleet sessions lists them.")
		}
		if err != nil {
			return err
		}
		g.sendControl(r.Worker, fleet.Control{Action: "release", Session: name})
		return g.nc.Flush()
	}
	workers := g.Workers()
	if _, ok := workers[fleet.Worker(name)]; !ok {
		var known []string
		for worker := range maps.Keys(workers) {
			known = append(known, string(worker))
		}
		return tool.Errorf(tool.NotFound, "there is no worker %s", name).
			Suggest("These are alive: %s.", strings.Join(known, ", "))
	}
	g.sendControl(fleet.Worker(name), fleet.Control{Action: action})
	return g.nc.Flush()
}
