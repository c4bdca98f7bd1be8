package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/fleet/internal/fleet"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/approval"
)

const (
	// lookWithin limits how long a look at a call may take, including what it tries.
	lookWithin  = time.Minute
	mostWaiting = 500
	mostReason  = 4 << 10 // bytes
	mostID      = 64      // bytes
	// mostAnswer limits an answer, in bytes: it is one message.
	mostAnswer    = 900 << 10
	mostQuestions = 4
	// mostDecisions limits a run's decisions, which are remembered so that each counts once.
	mostDecisions = 100000
)

// questioned answers operators, up to mostQuestions concurrently.
func (w *Worker) questioned() nats.MsgHandler {
	slots := make(chan struct{}, mostQuestions)
	return func(msg *nats.Msg) {
		select {
		case slots <- struct{}{}:
		case <-w.life.Done():
			return
		}
		go func() {
			defer func() { <-slots }()
			w.decide(msg)
		}()
	}
}

func (s *session) howToApprove(pending approval.Pending, _ string) string {
	s.waits.Store(true)
	return "Ask the operator of the fleet to run `toolhost fleet approve " + pending.ID + "` within " +
		approval.Spoken(approval.PendingTime) + "; then make exactly this call again."
}

// decide answers an operator. The hub allows only operators to publish here, each under its own
// name.
func (w *Worker) decide(msg *nats.Msg) {
	operator, _, _ := strings.Cut(strings.TrimPrefix(msg.Subject, "decide."), ".")
	if msg.Subject != w.name.DecideSubject(operator) || len(msg.Header) > 0 || msg.Reply != "" {
		return // not an operator's: the hub's store was made to send it
	}
	d, err := w.opened(msg.Data, operator)
	if strings.ContainsAny(d.ID, ".*> ") || d.ID == "" || len(d.ID) > mostID {
		return
	}
	ctx, cancel := context.WithTimeout(w.life, lookWithin)
	defer cancel()
	var answer *fleet.Decided
	if err == nil {
		answer, err = w.decided(ctx, operator, d)
	}
	if err != nil {
		answer = &fleet.Decided{Error: tool.AsError(err)}
	}
	data, err := encodeAnswer(answer)
	if err != nil || len(data) > mostAnswer {
		data = tool.MustMarshal(fleet.Decided{Error: tool.Errorf(tool.TooLarge,
			"the call is too large to be shown from here: %d bytes", len(data)).
			Suggest("Deny it, or look at it on the machine of the worker %s.", w.name)})
	}
	_ = w.nc.Publish(w.name.DecidedSubject(operator, d.ID), data)
}

// encodeAnswer encodes an answer so that what is shown arrives byte for byte, as its digest requires.
func encodeAnswer(answer *fleet.Decided) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(answer)
	return b.Bytes(), err
}

// opened returns an operator's request, once: a repeated decision is an error.
func (w *Worker) opened(data []byte, operator string) (fleet.Decide, error) {
	authority, unknown := w.authority, error(nil)
	if authority == "" {
		authority, unknown = fleet.ReadAuthority(w.options.Link.KeyFile)
	}
	d, err := fleet.OpenSigned(data, authority, operator, w.name)
	if unknown != nil {
		err = unknown
	}
	if err != nil || d.Action != fleet.DecideApprove && d.Action != fleet.DecideDeny {
		return d, err
	}
	return d, w.takeDecision(d.ID)
}

// takeDecision records that a decision is taken. It fails if it was taken before.
func (w *Worker) takeDecision(id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.settled[id] {
		return tool.Errorf(tool.Conflict, "this decision was taken before").Suggest("Look at the call again.")
	}
	if len(w.settled) >= mostDecisions {
		return tool.Errorf(tool.Unavailable, "the worker %s has taken %d decisions, which is all that it remembers",
			w.name, mostDecisions).Suggest("Restart it: toolhost fleet drain %s.", w.name)
	}
	w.settled[id] = true
	return nil
}

func (w *Worker) decided(ctx context.Context, operator string, d fleet.Decide) (*fleet.Decided, error) {
	if len(d.Reason) > mostReason {
		return nil, tool.Errorf(tool.InvalidArgument, "the reason has %d bytes", len(d.Reason)).
			Suggest("Give at most %d.", mostReason)
	}
	if d.Action == fleet.DecideList {
		return w.waiting(ctx), nil
	}
	s := w.using(d.Session)
	if s == nil {
		return nil, noCall(d.Call)
	}
	defer s.leaveAs("")
	store, err := s.offer.Project.Approvals()
	if err != nil {
		return nil, err
	}
	pending, err := store.Get(ctx, d.Call)
	if err != nil || !s.has(pending) {
		return nil, noCall(d.Call)
	}
	if d.Action != fleet.DecideDeny {
		look, err := s.wouldBe(ctx, pending)
		if err != nil || d.Action == fleet.DecideLook {
			return &fleet.Decided{Look: look}, err
		}
		if d.Action != fleet.DecideApprove || look.Shown != d.Shown {
			return nil, tool.Errorf(tool.Conflict, "the call of %s, or what it would do, is not what was shown",
				pending.Tool).
				Suggest("Nothing was decided. Look at it again.")
		}
	}
	return &fleet.Decided{}, s.carryOut(ctx, store, pending, operator, d)
}

// carryOut carries out an operator's decision, once: a later one finds no call.
func (s *session) carryOut(ctx context.Context, store *approval.Store, pending approval.Pending, operator string,
	d fleet.Decide) error {
	s.worker.deciding.Lock()
	defer s.worker.deciding.Unlock()
	now, err := store.Get(ctx, pending.ID)
	if err != nil || now.Digest() != pending.Digest() {
		return noCall(pending.ID)
	}
	err = s.offer.Project.Recorder.Event(ctx, s.recorded(pending), "operator_decided", map[string]any{"id": pending.ID,
		"tool": pending.Tool, "operator": operator, "decision": d.Action, "reason": d.Reason})
	if err != nil {
		return tool.Errorf(tool.Unavailable, "nothing was decided, since it cannot be recorded who did: %w", err).
			Suggest("Make room for the state of the worker %s, and decide again.", s.worker.name)
	}
	s.worker.logger.Info("an operator has decided on a call", "operator", operator, "decision", d.Action,
		"session", s.key, "tool", pending.Tool, "id", pending.ID)
	if d.Action == fleet.DecideDeny {
		return store.Refuse(ctx, pending, d.Reason)
	}
	return store.Approve(ctx, pending)
}

// recorded returns the session under which a decision is recorded: the call's.
func (s *session) recorded(pending approval.Pending) string {
	if pending.Session != "" {
		return pending.Session
	}
	return "operator"
}

func noCall(id string) error {
	return tool.Errorf(tool.NotFound, "no call waits for approval as %q: it was decided on, has waited too long, or "+
		"its session has moved", id).
		Suggest("toolhost fleet approve lists those that wait; a call that is made again waits again.")
}

// has reports whether a call is of this session: sessions of a directory share the waiting calls.
func (s *session) has(p approval.Pending) bool {
	return p.Toolset == s.record.Workspace.Toolset && (p.Session == "" || s.name == "" || p.Session == s.name)
}

// using returns an open session, which cannot be given up until leaveAs.
func (w *Worker) using(key string) *session {
	w.mu.Lock()
	s := w.sessions[key]
	w.mu.Unlock()
	if s == nil || !s.enter(true) {
		return nil
	}
	select {
	case <-s.ready:
		if s.failed == nil {
			return s
		}
	default:
	}
	s.leaveAs("")
	return nil
}

func (w *Worker) waiting(ctx context.Context) *fleet.Decided {
	w.mu.Lock()
	var keys []string
	for key, s := range w.sessions {
		if s.waits.Load() {
			keys = append(keys, key)
		}
	}
	w.mu.Unlock()
	slices.Sort(keys)
	answer, seen, size := new(fleet.Decided), make(map[string]bool), 0
	for _, key := range keys {
		for _, one := range w.waitingIn(ctx, key) {
			if seen[one.ID] {
				continue
			}
			seen[one.ID] = true
			if size += len(one.Call) + len(one.Reason) + 500; len(answer.Waiting) == mostWaiting || size > mostAnswer/2 {
				answer.More = true
				return answer
			}
			answer.Waiting = append(answer.Waiting, one)
		}
	}
	return answer
}

func (w *Worker) waitingIn(ctx context.Context, key string) (all []fleet.Waiting) {
	s := w.using(key)
	if s == nil {
		return nil
	}
	defer s.leaveAs("")
	store, err := s.offer.Project.Approvals()
	var pending []approval.Pending
	if err == nil {
		pending, err = store.List(ctx)
	}
	if err != nil {
		w.logger.Warn("the calls that wait cannot be read", "session", key, "error", err)
		return nil
	}
	for _, p := range pending {
		if s.has(p) {
			all = append(all, s.line(p))
		}
	}
	return all
}

const mostLine = 400 // bytes

func (s *session) line(p approval.Pending) fleet.Waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := p.Line()
	if len(call) > mostLine {
		call = strings.ToValidUTF8(call[:mostLine], "") + "..."
	}
	return fleet.Waiting{ID: p.ID, Worker: s.worker.name, Session: s.key, Tenant: s.record.Tenant, Tool: p.Tool,
		Call: call, Reason: p.Reason, Asked: p.Asked, Expires: p.Expires}
}

func (s *session) wouldBe(ctx context.Context, p approval.Pending) (*fleet.Look, error) {
	outcome, err := s.offer.Project.WouldBe(ctx, p)
	if err != nil {
		return nil, err
	}
	question := outcome.Question()
	return &fleet.Look{Waiting: s.line(p), Question: question, Digest: p.Digest(),
		Shown: fleet.ShownDigest(p.Digest(), question)}, nil
}
