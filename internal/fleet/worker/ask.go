package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/internal/fleet"
)

// askWithin bounds a question to the gateways.
const askWithin = 3 * time.Second

// request asks the gateways.
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

// askTries are the attempts at what a worker has to tell the gateways.
const askTries = 4

// tell tells the gateways of a pack, or that a session is let go. Telling it again does
// no harm, and one attempt may fall into a time in which nobody answers.
func (w *Worker) tell(ctx context.Context, what fleet.Ask) (err error) {
	for range askTries {
		_, err = w.request(what)
		if !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, nats.ErrNoResponders) || !w.nc.IsConnected() {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
	return err
}

// Bounds of the questions whether sessions are still the worker's: the gateway
// reads the record of each. Without a doubt a session's turn comes after
// askEvery, and so many have theirs at each heartbeat.
const (
	askPiece = 100
	askEvery = 2 * fleet.Lease
	askTurns = 50
)

// ask asks which sessions are still the worker's, and drops the others.
func (w *Worker) ask() {
	if !w.asking.TryLock() {
		return
	}
	defer w.asking.Unlock()
	doubts := w.doubts.Load() // what comes up meanwhile is not answered
	for piece := range slices.Chunk(w.toAsk(doubts), askPiece) {
		if err := w.askAbout(doubts, piece...); err != nil {
			return
		}
	}
	w.asked.Store(doubts)
}

// toAsk are the sessions that are in doubt, and some whose turn it is.
func (w *Worker) toAsk(doubts int64) (all []*session) {
	due := int64(time.Since(w.began) - askEvery)
	turns := 0
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sessions {
		inTurn := turns < askTurns && s.asked.Load() < due
		if inTurn {
			turns++
		}
		if inTurn || !s.isSure(doubts) {
			all = append(all, s)
		}
	}
	return all
}

func (s *session) isSure(doubts int64) bool {
	return !s.lost.Load() && max(s.sure.Load(), s.worker.asked.Load()) >= doubts
}

// askAbout settles the doubts about some sessions.
func (w *Worker) askAbout(doubts int64, sessions ...*session) error {
	now, owned := int64(time.Since(w.began)), make(map[string]uint64)
	for _, s := range sessions {
		owned[s.key] = s.epoch()
	}
	reply, err := w.request(fleet.Ask{Owned: owned})
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if !slices.Contains(reply.Owned, s.key) {
			s.lost.Store(true)
			go w.dropLost(s.key, owned[s.key])
			continue
		}
		s.asked.Store(now)
		s.sure.Store(doubts)
	}
	return nil
}

func (w *Worker) dropLost(key string, epoch uint64) {
	w.logger.Warn("a session was given to another worker", "session", key)
	w.drop(key, epoch)
}

// beSure waits until the worker knows that the session is its own.
func (s *session) beSure(ctx context.Context) error {
	w := s.worker
	w.tick()
	deadline := time.Now().Add(askWithin)
	for {
		doubts := w.doubts.Load()
		if s.isSure(doubts) {
			return nil
		}
		err := w.askAbout(doubts, s)
		switch {
		case s.lost.Load():
			return errors.New("the session was given to another worker")
		case err == nil:
			continue
		case time.Now().After(deadline):
			return fmt.Errorf("the worker does not know whether the session is still its own: %w", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
