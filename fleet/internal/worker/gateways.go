package worker

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
)

const askWithin = 3 * time.Second

func (w *Worker) request(ask fleet.Ask) (*fleet.Reply, error) {
	data, err := json.Marshal(ask)
	if err != nil {
		return nil, err
	}
	answer, err := w.nc.Request(w.name.AskSubject(), data, askWithin)
	if err != nil {
		return nil, err
	}
	reply := new(fleet.Reply)
	if err := json.Unmarshal(answer.Data, reply); err != nil {
		return nil, err
	}
	if reply.Error != "" {
		return reply, errors.New(reply.Error)
	}
	return reply, nil
}

// askTries are the attempts to tell the gateways something.
const askTries = 4

// requestWithRetry reports a pack, or that a session is given up, to the gateways, repeatedly: an attempt may
// go unanswered. A session that is another worker's is dropped.
func (w *Worker) requestWithRetry(ctx context.Context, what fleet.Ask) error {
	for try := 1; ; try++ {
		reply, err := w.request(what)
		if reply != nil && reply.Foreign {
			go w.dropLost(what.Session, what.Epoch)
		}
		if try == askTries || !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, nats.ErrNoResponders) ||
			!w.nc.IsConnected() {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// askPiece limits the sessions of one question: the gateway reads each one's record.
const askPiece = 100

// ask asks which sessions are still the worker's, after a time in which it may have lost some, and
// drops the others.
func (w *Worker) ask() {
	if !w.asking.TryLock() {
		return
	}
	defer w.asking.Unlock()
	if !w.inDoubt.Swap(false) {
		return
	}
	owned := make(map[string]uint64)
	w.mu.Lock()
	for key, s := range w.sessions {
		owned[key] = s.epoch()
	}
	w.mu.Unlock()
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(owned)), askPiece) {
		piece := make(map[string]uint64, len(keys))
		for _, key := range keys {
			piece[key] = owned[key]
		}
		reply, err := w.request(fleet.Ask{Owned: piece})
		if err != nil {
			w.inDoubt.Store(true)
			return
		}
		for _, key := range keys {
			if !slices.Contains(reply.Owned, key) {
				go w.dropLost(key, owned[key])
			}
		}
	}
}

func (w *Worker) dropLost(key string, epoch uint64) {
	w.logger.Warn("a session was given to another worker", "session", key)
	w.drop(key, epoch)
}
