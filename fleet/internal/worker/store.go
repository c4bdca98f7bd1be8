package worker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/host/tool"
)

// store is what a worker reaches of the hub's store, through gateways.
type store struct {
	worker *Worker
	any    jetstream.KeyValue // the bucket of calls, through any gateway

	mu  sync.Mutex
	via map[string]jetstream.KeyValue
}

// mostVia limits the gateways that are known by name.
const mostVia = 100

// calls returns the bucket of calls through a gateway, or through any if that one does not answer.
func (s *store) calls(ctx context.Context, gateway string) jetstream.KeyValue {
	s.mu.Lock()
	known := s.via[gateway]
	s.mu.Unlock()
	if known != nil {
		return known
	}
	if gateway == "" || strings.ContainsAny(gateway, ".*> ") {
		return s.any
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	through, err := fleet.WorkerCalls(ctx, s.worker.nc, s.worker.name, gateway)
	if err != nil {
		return s.any
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.via) >= mostVia {
		clear(s.via)
	}
	s.via[gateway] = through
	return through
}

// gatewayOf returns a request's gateway, from its answer's subject.
func gatewayOf(back string) string {
	parts := strings.SplitN(back, ".", 3)
	if len(parts) < 3 {
		return ""
	}
	return parts[1]
}

// transferQuiet limits a transfer's standstill, transferTries its attempts.
const (
	transferQuiet = 10 * time.Second
	transferTries = 4
)

// transfer moves a pack between a file and a gateway, which asks for each part or sends it.
type transfer struct {
	file  *os.File
	keeps bool
	mu    sync.Mutex
	at    int64 // bytes received
	moved bool
}

// transfer stores a pack in the hub, or loads one, from or to a file.
func (s *session) transfer(ctx context.Context, digest string, file *os.File, size int64) (err error) {
	w := s.worker
	for range transferTries {
		t := &transfer{file: file, keeps: size > 0}
		ask := fleet.Transfer{ID: strings.ToLower(rand.Text()), Session: s.key, Epoch: s.epoch(), Pack: digest, Size: size}
		w.mu.Lock()
		w.transfers[ask.ID] = t
		w.mu.Unlock()
		err = w.awaitTransfer(ctx, ask, t)
		w.mu.Lock()
		delete(w.transfers, ask.ID)
		w.mu.Unlock()
		if refused := new(tool.Error); err == nil || ctx.Err() != nil || errors.As(err, &refused) {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
	return fmt.Errorf("the gateways do not answer: %w", err)
}

func (w *Worker) awaitTransfer(ctx context.Context, ask fleet.Transfer, t *transfer) error {
	answers, err := w.nc.SubscribeSync(w.nc.NewInbox())
	if err != nil {
		return err
	}
	defer func() { _ = answers.Unsubscribe() }()
	if err := w.nc.PublishRequest(w.name.PackSubject(), answers.Subject, tool.MustMarshal(ask)); err != nil {
		return err
	}
	for {
		quiet, cancel := context.WithTimeout(ctx, transferQuiet)
		msg, err := answers.NextMsgWithContext(quiet)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && t.hasMoved() {
			continue
		}
		var end fleet.Transferred
		if err == nil {
			err = json.Unmarshal(msg.Data, &end)
		}
		if err == nil && end.Error != nil {
			return end.Error
		}
		return err
	}
}

func (t *transfer) hasMoved() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	moved := t.moved
	t.moved = false
	return moved
}

// part returns the part at an offset, or takes it; false on failure.
func (t *transfer) part(at int64, data []byte) ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moved = true
	switch {
	case t.keeps:
		part := make([]byte, fleet.PartSize)
		n, err := t.file.ReadAt(part, at)
		return part[:n], n > 0 || err == nil
	case at < t.at: // a repeated part
		return nil, true
	case at > t.at || at+int64(len(data)) > fleet.MostPack:
		return nil, false
	}
	_, err := t.file.WriteAt(data, at)
	if err == nil {
		t.at += int64(len(data))
	}
	return nil, err == nil
}

func (w *Worker) answerPart(msg *nats.Msg) {
	w.mu.Lock()
	t := w.transfers[msg.Header.Get("Id")]
	w.mu.Unlock()
	at, err := strconv.ParseInt(msg.Header.Get("N"), 10, 64)
	if t == nil || err != nil {
		return
	}
	if data, ok := t.part(at, msg.Data); ok {
		answer := nats.NewMsg(msg.Header.Get("Back"))
		answer.Header.Set("N", msg.Header.Get("N"))
		answer.Data = data
		_ = w.nc.PublishMsg(answer)
	}
}
