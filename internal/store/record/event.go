package record

import (
	"context"
	"errors"

	"github.com/toolhost/toolhost/internal/store/redact"
)

type callKey struct{ session, request string }

type openCall struct {
	n     int64
	asked bool // waits for an approval
}

// The events that begin and end a call, and the one after which it may begin again.
const (
	startedEvent  = "tool_call_started"
	askedEvent    = "input_required"
	decidedEvent  = "tool_call_decided"
	finishedEvent = "tool_call_finished"
	begunEvent    = "session_started"
	endedEvent    = "session_ended"
)

// mostOpen bounds the remembered calls that ask and never come back.
const mostOpen = 10_000

// Event adds an event to session's record. The payload is any value that encodes as JSON; an object's fields
// are placed beside "event" and "timestamp". Secrets are redacted, long texts truncated with a note of how
// much, except in the whole content of a [Kept] payload.
func (r *Recorder) Event(_ context.Context, session, event string, payload any) error {
	if err := ValidSession(session); err != nil {
		return err
	}
	redactor := r.redactor.Load()
	e := &entry{At: r.options.Now().UTC().Format(timeFormat), Session: session, Event: redactor.String(event)}
	call, large, err := e.hold(redactor, payload)
	if err != nil {
		return err
	}
	if r.log != nil {
		err = failure("write an event to", r.log.dir, r.appendEntry(e, call, large))
	}
	err = errors.Join(err, r.copy(e, large))
	if ended, ok := payload.(interface{ LeftFiles() bool }); ok && ended.LeftFiles() {
		limits := r.options.Keep
		if r.log != nil {
			r.log.mu.Lock()
			limits = r.log.limits
			r.log.mu.Unlock()
		}
		_, pruneErr := r.pruneCopies(limits)
		err = errors.Join(err, pruneErr)
	}
	return err
}

// hold stores a redacted payload.
func (e *entry) hold(redactor *redact.Redactor, payload any) (call string, large *packed, err error) {
	kept, ok := payload.(Kept)
	if !ok {
		e.Body, err = fields(redactor, e.Event, payload)
		if members, ok := payload.(map[string]any); ok {
			call, _ = members["request_id"].(string)
		}
		return call, nil, err
	}
	call, event, more, name, what := kept.Kept()
	if e.Body, err = fields(redactor, e.Event, event); err != nil {
		return call, nil, err
	}
	if more != nil {
		if e.More, err = fields(redactor, e.Event, more); err != nil {
			return call, nil, err
		}
	}
	if name != "" {
		e.Holds = name
		e.Content, large, err = content(redactor, what)
	}
	return call, large, err
}

func (r *Recorder) appendEntry(e *entry, call string, large *packed) error {
	key := callKey{e.Session, call}
	r.mu.Lock()
	open, known := r.calls[key]
	r.mu.Unlock()
	begins := e.Event == startedEvent && !(known && open.asked)
	if known && !begins {
		e.Of = open.n
	}
	if e.Event == startedEvent {
		e.By = r.writer.name(r.log)
	}
	if r.options.Single {
		e.Run = r.options.Root
	}
	n, err := r.log.append(e, large)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case e.Event == startedEvent:
		if begins {
			open.n = n
		}
		if len(r.calls) < mostOpen {
			r.calls[key] = openCall{n: open.n}
		}
	case e.Event == askedEvent && known:
		r.calls[key] = openCall{n: open.n, asked: true}
	case e.Event == finishedEvent:
		delete(r.calls, key)
	}
	return nil
}

// copy writes an event's line to events.jsonl, if enabled.
func (r *Recorder) copy(e *entry, large *packed) error {
	if !r.options.Copy {
		return nil
	}
	run, err := r.run(e.Session)
	if err != nil {
		return err
	}
	whole := e.Content
	if large != nil && e.Holds == shown {
		whole = large.whole
	}
	return failure("write an event to", run.dir, run.append(append(e.line(whole, false), '\n')))
}
