package worker

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/internal/fleet"
)

// store is what a worker reaches of the hub's store, through gateways.
type store struct {
	worker *Worker
	any    jetstream.KeyValue // the bucket of calls, through whichever gateway is there

	mu  sync.Mutex
	via map[string]jetstream.KeyValue
}

// mostVia bounds the gateways that are known by name.
const mostVia = 100

// calls is the bucket of calls through a gateway, or through any where that one
// does not answer.
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

// gatewayOf is the gateway of a request, by where its answer goes.
func gatewayOf(back string) string {
	parts := strings.SplitN(back, ".", 3)
	if len(parts) < 3 {
		return ""
	}
	return parts[1]
}

// objectWithin bounds one attempt at a part of an object, commitWithin that at the
// end of an upload, and objectTries are the attempts.
const (
	objectWithin = 10 * time.Second
	commitWithin = time.Minute
	objectTries  = 4
)

// object asks the gateways about an object. Asking again does no harm.
func (w *Worker) object(ctx context.Context, ask fleet.ObjectAsk, part []byte) (*fleet.ObjectReply, []byte, error) {
	within := objectWithin
	if ask.Action == fleet.ObjectCommit {
		within = commitWithin
	}
	var err error
	for range objectTries {
		var answer *nats.Msg
		try, cancel := context.WithTimeout(ctx, within)
		answer, err = w.nc.RequestMsgWithContext(try, fleet.ObjectMsg(w.name.ObjectSubject(), ask, part))
		cancel()
		if err == nil {
			reply := new(fleet.ObjectReply)
			if err := fleet.ReadObjectMsg(answer, reply); err != nil {
				return nil, nil, err
			}
			if reply.Error != nil {
				return nil, nil, reply.Error
			}
			return reply, answer.Data, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil, errors.Join(err, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil, nil, fmt.Errorf("the gateways do not answer: %w", err)
}

// upload puts an object of a session into the hub's store, and gives its digest and
// size.
func (w *Worker) upload(ctx context.Context, about fleet.ObjectAsk, in io.Reader) (sum string, size int64, err error) {
	about.Upload = rand.Text()
	defer func() {
		if about.Action = fleet.ObjectDrop; err != nil && about.Part > 0 {
			_, _, _ = w.object(ctx, about, nil)
		}
	}()
	hash, part := sha256.New(), make([]byte, fleet.PartSize)
	for about.Action = fleet.ObjectPart; ; about.Part++ {
		n, readErr := io.ReadFull(in, part)
		if n == 0 && errors.Is(readErr, io.EOF) {
			break
		}
		if readErr != nil && !errors.Is(readErr, io.ErrUnexpectedEOF) {
			return "", 0, readErr
		}
		_, _ = hash.Write(part[:n])
		size += int64(n)
		if _, _, err = w.object(ctx, about, part[:n]); err != nil {
			return "", 0, err
		}
	}
	about.Action, about.Sum, about.Size = fleet.ObjectCommit, hex.EncodeToString(hash.Sum(nil)), size
	_, _, err = w.object(ctx, about, nil)
	return about.Sum, size, err
}

// download reads an object of a session, up to a number of bytes, and gives what its
// digest and size were when it was kept.
func (w *Worker) download(ctx context.Context, about fleet.ObjectAsk, to io.Writer, most int64) (*fleet.ObjectReply,
	error) {
	about.Action = fleet.ObjectRead
	for {
		reply, part, err := w.object(ctx, about, nil)
		if err != nil || reply.End {
			return reply, err
		}
		if most -= int64(len(part)); most < 0 {
			return nil, errors.New("it is larger than it may be")
		}
		if _, err := to.Write(part); err != nil {
			return nil, err
		}
		about.From = reply.Next
	}
}

// about begins what is asked about an object of the session.
func (s *session) about() fleet.ObjectAsk { return fleet.ObjectAsk{Session: s.key, Epoch: s.epoch()} }
