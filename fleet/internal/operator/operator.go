// Package operator lists a fleet's waiting calls and decides on them, from anywhere that
// reaches its hub with an operator's key.
package operator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// Operator is a connected operator.
type Operator struct {
	key    string
	signer *fleet.Signer
	nc     *nats.Conn

	mu      sync.Mutex
	workers map[fleet.Worker]time.Time // when each was last heard
	answers map[string]question
}

type question struct {
	worker fleet.Worker
	answer chan *fleet.Decided
}

const (
	// mostWorkers limits the workers asked, mostOfKey those of one key, which can claim to be many.
	mostWorkers = 4096
	mostOfKey   = 256
	// forgetAfter is how long a silent worker is still asked.
	forgetAfter = time.Minute
	// listWithin limits a worker's time for listing, lookWithin for a look.
	listWithin = 10 * time.Second
	lookWithin = 70 * time.Second
)

// Connect connects to a fleet with the operator's key of that name.
func Connect(ctx context.Context, link fleet.Link, key string) (*Operator, error) {
	o := &Operator{key: key, workers: make(map[fleet.Worker]time.Time), answers: make(map[string]question)}
	link.Name, link.Inbox = "operator "+key, "_INBOX.operator."+key
	var err error
	if o.signer, err = fleet.ReadSigner(link.KeyFile, key); err != nil {
		return nil, err
	}
	if o.nc, err = link.Connect(ctx); err != nil {
		return nil, err
	}
	_, err = o.nc.Subscribe("beat.*.*", o.heard)
	if err == nil {
		_, err = o.nc.Subscribe(o.back(">"), o.answered)
	}
	if err == nil {
		err = o.nc.Flush()
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	o.listen(ctx)
	return o, nil
}

func (o *Operator) listen(ctx context.Context) {
	for _, wait := range []time.Duration{2 * fleet.Heartbeat, fleet.Lease} {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
		o.mu.Lock()
		heard := len(o.workers)
		o.mu.Unlock()
		if heard > 0 {
			return
		}
	}
}

// Close ends the connection.
func (o *Operator) Close() { o.nc.Close() }

func (o *Operator) back(rest string) string { return "decided." + o.key + "." + rest }

func (o *Operator) heard(msg *nats.Msg) {
	name := fleet.FromSubject(msg.Subject)
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.workers[name]; !known {
		of := 0
		for other := range o.workers {
			if other.Key() == name.Key() {
				of++
			}
		}
		if of >= mostOfKey || len(o.workers) >= mostWorkers {
			return
		}
	}
	o.workers[name] = time.Now()
}

func (o *Operator) heardOf() (workers []fleet.Worker) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for w, heard := range o.workers {
		if time.Since(heard) > forgetAfter {
			delete(o.workers, w)
			continue
		}
		workers = append(workers, w)
	}
	return workers
}

// answered takes an answer, which only the asked worker can send.
func (o *Operator) answered(msg *nats.Msg) {
	rest := strings.TrimPrefix(msg.Subject, o.back(""))
	i := strings.LastIndexByte(rest, '.')
	var d fleet.Decided
	if i < 0 || json.Unmarshal(msg.Data, &d) != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if q, ok := o.answers[rest[i+1:]]; ok && string(q.worker) == rest[:i] {
		delete(o.answers, rest[i+1:])
		q.answer <- &d
	}
}

func (o *Operator) ask(ctx context.Context, w fleet.Worker, d fleet.Decide, within time.Duration) (*fleet.Decided,
	error) {
	d.ID = strings.ToLower(rand.Text())
	q := question{w, make(chan *fleet.Decided, 1)}
	o.mu.Lock()
	o.answers[d.ID] = q
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.answers, d.ID)
	}()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	message, err := o.signer.Sign(w, d)
	if err == nil {
		err = o.nc.Publish(w.DecideSubject(o.key), message)
	}
	if err != nil {
		return nil, err
	}
	select {
	case answer := <-q.answer:
		if e := answer.Error; e != nil { // a worker can lie, and write to terminals
			return nil, tool.Errorf(e.Code, "%s", show.Line(e.Message)).Suggest("%s", show.Line(e.Suggestion))
		}
		return answer, nil
	case <-ctx.Done():
		return nil, tool.Errorf(tool.Unavailable, "the worker %s does not answer", w).
			Suggest("If this was a decision it may have been taken: toolhost fleet approve lists what still waits.")
	}
}

// Waiting returns the waiting calls, oldest first, and the workers that do not answer or have more than they
// list.
func (o *Operator) Waiting(ctx context.Context) (all []fleet.Waiting, problems []string) {
	var mu sync.Mutex
	var asking sync.WaitGroup
	for _, w := range o.heardOf() {
		asking.Go(func() {
			answer, err := o.ask(ctx, w, fleet.Decide{Action: fleet.DecideList}, listWithin)
			mu.Lock()
			defer mu.Unlock()
			if problem := problemOf(w, answer, err); problem != "" {
				problems = append(problems, problem)
			}
			if err != nil {
				return
			}
			for _, one := range answer.Waiting {
				one.Worker = w
				all = append(all, one)
			}
		})
	}
	asking.Wait()
	slices.SortFunc(all, func(a, b fleet.Waiting) int { return a.Asked.Compare(b.Asked) })
	slices.Sort(problems)
	return all, problems
}

// problemOf returns why a worker's waiting calls are not all known; "" if they are.
func problemOf(w fleet.Worker, answer *fleet.Decided, err error) string {
	name := show.SanitizeLine(string(w), show.MostName)
	switch {
	case tool.CodeOf(err) == tool.Unavailable:
		return fmt.Sprintf("The worker %s does not say what waits there.", name)
	case err != nil:
		e := tool.AsError(err)
		return fmt.Sprintf("The worker %s does not say what waits there: %s. %s", name,
			show.SanitizeLine(e.Message, show.MostMessage), show.SanitizeLine(e.Suggestion, show.MostMessage))
	case answer.More:
		return fmt.Sprintf("More calls wait on the worker %s than it lists.", name)
	}
	return ""
}

// Find returns the waiting call with that ID.
func (o *Operator) Find(ctx context.Context, id string) (fleet.Waiting, error) {
	all, problems := o.Waiting(ctx)
	all = slices.DeleteFunc(all, func(w fleet.Waiting) bool { return !strings.EqualFold(w.ID, id) })
	switch {
	case len(all) == 1:
		return all[0], nil
	case len(all) > 1:
		return fleet.Waiting{}, tool.Errorf(tool.Conflict, "several workers have a call that waits as %q", id).
			Suggest("Revoke the key of the worker that lies: toolhost fleet approve lists which they are.")
	}
	err := tool.Errorf(tool.NotFound, "no call waits for approval as %q: it was decided on, has waited too long, or its "+
		"session has moved", id)
	if len(problems) > 0 {
		return fleet.Waiting{}, err.Suggest("%s", strings.Join(problems, " "))
	}
	return fleet.Waiting{}, err.
		Suggest("toolhost fleet approve lists those that wait; a call that is made again waits again.")
}

// Look returns a call as it must be seen before a decision.
func (o *Operator) Look(ctx context.Context, call fleet.Waiting) (*fleet.Look, error) {
	answer, err := o.ask(ctx, call.Worker, fleet.Decide{Action: fleet.DecideLook, Session: call.Session, Call: call.ID},
		lookWithin)
	if err != nil {
		return nil, err
	}
	// The decision is on what is shown here, regardless of who sent the answer.
	if answer.Look == nil || answer.Look.ID != call.ID ||
		answer.Look.Shown != fleet.ShownDigest(answer.Look.Digest, answer.Look.Question) {
		return nil, tool.Errorf(tool.Unavailable, "the worker %s does not show the call", call.Worker).
			Suggest("Deny it, and look at that worker.")
	}
	answer.Look.Worker = call.Worker
	return answer.Look, nil
}

// Approve lets the call run that was looked at, once, if it is still what was shown.
func (o *Operator) Approve(ctx context.Context, look *fleet.Look) error {
	_, err := o.ask(ctx, look.Worker, fleet.Decide{Action: fleet.DecideApprove, Session: look.Session, Call: look.ID,
		Shown: look.Shown}, lookWithin)
	return err
}

// Deny tells the agent that the call may not run, and why.
func (o *Operator) Deny(ctx context.Context, call fleet.Waiting, reason string) error {
	_, err := o.ask(ctx, call.Worker, fleet.Decide{Action: fleet.DecideDeny, Session: call.Session, Call: call.ID,
		Reason: reason}, listWithin)
	return err
}
