package record

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// The states of a call, besides the codes of errors.
const (
	StatusRunning = "running"
	StatusAsks    = "asks"
	StatusLost    = "lost" // its process ended before it did
	StatusSuccess = "success"
	StatusDryRun  = "dry run"
)

// CallName identifies a call.
type CallName struct {
	Session string `json:"session"`
	Request string `json:"request"`
}

// Filter selects calls. The zero Filter selects all, also events without a call.
type Filter struct {
	// Session, Tool and Request are exact. Status is one of the states, the code of an error, or "error" for
	// all errors.
	Session, Tool, Request, Status string
	// Path is a file that the call changed, or a directory above one.
	Path string
	// Also are further calls that changed Path, according to undo.
	Also []CallName
	// Text is searched in calls; it does not select, but sets Call.Says.
	Text string
	// Since and Until bound when the call began.
	Since, Until time.Time
	// Last selects only the last ones. Zero selects all.
	Last int

	run string
}

// calls reports whether the filter is about calls, so that events without one are left out.
func (f *Filter) calls() bool {
	return f.Tool != "" || f.Request != "" || f.Status != "" || f.Path != ""
}

func (f *Filter) inSession(name, run string) bool {
	return (f.Session == "" || f.Session == name) && (f.run == "" || f.run == run)
}

func (f *Filter) inTime(at time.Time) bool {
	return (f.Since.IsZero() || !at.Before(f.Since)) && (f.Until.IsZero() || at.Before(f.Until))
}

func (f *Filter) hasStatus(status string) bool {
	if f.Status != "error" {
		return f.Status == "" || f.Status == status
	}
	switch status {
	case StatusRunning, StatusAsks, StatusLost, StatusSuccess, StatusDryRun:
		return false
	}
	return true
}

// hasPath reports whether the filter selects a call by its changed files.
func (f *Filter) hasPath(c *Call) bool {
	path := strings.TrimSuffix(f.Path, "/")
	return path == "" || slices.ContainsFunc(c.paths, func(p string) bool {
		return p == path || strings.HasPrefix(p, path+"/")
	}) || slices.Contains(f.Also, CallName{c.Session, c.Request})
}

func (f *Filter) chooses(c *Call) bool {
	return f.inSession(c.Session, c.run) && (f.Tool == "" || f.Tool == c.Tool) &&
		(f.Request == "" || f.Request == c.Request) && f.hasStatus(c.Status) && f.inTime(c.Began) && f.hasPath(c)
}

// needles returns texts in the lines of every selected call, to test before parsing.
func (f *Filter) needles() (needles [][]byte) {
	add := func(name, value string) {
		if value != "" {
			needles = append(needles, append([]byte(`"`+name+`":`), marshalText(value)...))
		}
	}
	add("session", f.Session)
	add("tool", f.Tool)
	add("request_id", f.Request)
	switch f.Status {
	case "", StatusRunning, StatusLost, StatusAsks:
	case "error":
		needles = append(needles, []byte(`"error":"`))
	case StatusSuccess, StatusDryRun:
		add("status", StatusSuccess)
	default:
		add("error", f.Status)
	}
	if path := strings.TrimSuffix(f.Path, "/"); path != "" && len(f.Also) == 0 {
		quoted := marshalText(path)
		needles = append(needles, quoted[:len(quoted)-1])
	}
	return needles
}

// Event is one event of the record.
type Event struct {
	// Session is the event's session.
	Session string
	// Name is the kind of event.
	Name string
	// Time is when it was written, in UTC.
	Time time.Time
	// Line is the whole JSON object, without a newline.
	Line json.RawMessage
}

// followPause is the polling interval of a follower.
const followPause = 100 * time.Millisecond

// Events returns the record's events, oldest first. It ends with the record, or with ctx if follow is set; an
// error comes last.
func (r *Recorder) Events(ctx context.Context, f Filter, follow bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := r.events(ctx, f, follow, yield); err != nil && ctx.Err() == nil {
			yield(Event{}, err)
		}
	}
}

func (r *Recorder) events(ctx context.Context, f Filter, follow bool, yield func(Event, error) bool) error {
	filter := r.filtered(f)
	var from position
	for {
		v, err := r.view()
		if err != nil {
			return r.failed(err)
		}
		if v != nil {
			more, err := v.events(ctx, filter, from, yield)
			if err != nil || !more {
				return r.failed(err)
			}
			from = v.end()
		}
		if !follow {
			return nil
		}
		filter.Last = 0
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
}

func (r *Recorder) failed(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return failure("read", r.log.dir, err)
}

// filtered adds the recorder's own options to the filter.
func (r *Recorder) filtered(f Filter) *Filter {
	if r.options.Single {
		f.run = r.options.Root
	}
	return &f
}

// event converts an entry; ok is false if it cannot be read.
func (l *eventLog) event(from entryLine) (Event, bool) {
	e, err := readEntry(from.line)
	if err != nil {
		return Event{}, false
	}
	var whole json.RawMessage
	if e.Holds == shown {
		if whole, err = l.load(from.segment, &e); err != nil {
			whole = marshalText("[" + err.Error() + "]")
		}
	}
	return Event{Session: e.Session, Name: e.Event, Time: e.time(), Line: e.line(whole, true)}, true
}

// Session describes one session in the record.
type Session struct {
	Name string
	// Changed is the time of its last entry.
	Changed time.Time
	// Bytes is the size of its entries with their contents.
	Bytes int64
}

// Sessions returns the sessions, least recently changed first.
func (r *Recorder) Sessions(context.Context) ([]Session, error) {
	sessions := []Session{}
	v, err := r.view()
	if v == nil {
		return sessions, err
	}
	all := make(map[string]*Session)
	for i := range v.segments {
		found, err := v.sessions(i)
		if err != nil {
			return nil, r.failed(err)
		}
		for _, s := range found {
			if s.Name == "" || r.options.Single && s.Run != r.options.Root {
				continue
			}
			if all[s.Name] == nil {
				all[s.Name] = &Session{Name: s.Name}
			}
			all[s.Name].Bytes += s.Bytes
			if changed := time.UnixMicro(s.Last); changed.After(all[s.Name].Changed) {
				all[s.Name].Changed = changed
			}
		}
	}
	for _, s := range all {
		sessions = append(sessions, *s)
	}
	slices.SortFunc(sessions, func(a, b Session) int {
		return cmp.Or(a.Changed.Compare(b.Changed), cmp.Compare(a.Name, b.Name))
	})
	return sessions, nil
}

// HasSession returns an error if the record does not have a session.
func (r *Recorder) HasSession(ctx context.Context, name string) error {
	sessions, err := r.Sessions(ctx)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if s.Name == name {
			return nil
		}
	}
	return tool.Errorf(tool.NotFound, "session %s has no record", name).
		Suggest("Check the session's name with `toolhost events --sessions`; a record begins with the session's first call.")
}
