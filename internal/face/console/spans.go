package console

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/pid"
	"github.com/toolhost/toolhost/internal/store/record"
)

// span is the lifetime of a background task or plugin process.
type span struct {
	Space   string `json:"space"`
	Session string `json:"session"`
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	State   string `json:"state"`
	Call    string `json:"call,omitempty"` // that started it, if recorded
	Began   int64  `json:"began"`          // microseconds
	Ended   int64  `json:"ended,omitempty"`
}

// Bounds of the search for spans.
const (
	mostSpanEvents = 1000
	mostTasks      = 200
)

func (s *Server) listSpans(w http.ResponseWriter, r *http.Request) error {
	spaces, err := s.chosenSpaces(r)
	if err != nil {
		return err
	}
	filter, _, err := callsAsked(r)
	if err != nil {
		return err
	}
	all := []span{}
	for _, found := range spaces {
		plugins, err := pluginSpans(r.Context(), found, filter.Session)
		if err != nil {
			return err
		}
		all = append(append(all, taskSpans(found, filter.Session)...), plugins...)
	}
	slices.SortStableFunc(all, func(a, b span) int { return cmp.Compare(b.Began, a.Began) })
	return give(w, all, nil)
}

func taskSpans(found *space, session string) (all []span) {
	tasks, err := background.Open(filepath.Join(found.dir, background.DirName), background.Options{}).List()
	if err != nil {
		return nil
	}
	for _, t := range tasks[max(0, len(tasks)-mostTasks):] {
		if session != "" && t.Session != session {
			continue
		}
		one := span{Space: found.id, Session: show.Page.Line(t.Session), Kind: "task", Began: t.Started.UnixMicro(),
			Name: show.Fit(show.Page.Line(cmp.Or(t.Title, t.ID)), mostLine), State: string(t.State)}
		if t.Ended != nil {
			one.Ended = t.Ended.UnixMicro()
		} else if t.Done() {
			one.Ended = one.Began
		}
		all = append(all, one)
	}
	return all
}

// pluginEnds maps the events that end a plugin's process to a word.
var pluginEnds = map[string]string{"plugin_crashed": "crashed", "plugin_unresponsive": "unresponsive",
	"plugin_stopped": "stopped"}

// pluginSpans returns the plugin processes in the last events.
func pluginSpans(ctx context.Context, found *space, session string) ([]span, error) {
	type life struct {
		span
		pid int
	}
	var all []*life
	open := make(map[[2]string]*life)
	last := make(map[string]int64) // event of each session
	end := func(l *life, at int64, state string) { l.Ended, l.State = at, state }
	for event, err := range found.recorder.Events(ctx, record.Filter{Session: session, Last: mostSpanEvents}, false) {
		if err != nil {
			return nil, err
		}
		var says struct {
			Session string `json:"session"`
			Plugin  string `json:"plugin"`
			Call    string `json:"request_id"`
			PID     int    `json:"pid"`
			Took    int64  `json:"took_ms"`
		}
		if json.Unmarshal(event.Line, &says) != nil {
			continue
		}
		session := cmp.Or(event.Session, says.Session)
		at := event.Time.UnixMicro()
		last[session] = at
		key := [2]string{session, says.Plugin}
		state, ends := pluginEnds[event.Name]
		switch {
		case event.Name == "plugin_started", event.Name == "plugin_start_failed":
			l := &life{span{Space: found.id, Session: show.Page.Line(session), Kind: "plugin", Name: show.Page.Line(says.Plugin),
				State: "running", Call: says.Call, Began: at - says.Took*time.Millisecond.Microseconds()}, says.PID}
			all = append(all, l)
			if event.Name == "plugin_start_failed" {
				end(l, at, "failed")
			} else {
				open[key] = l
			}
		case ends && open[key] != nil:
			end(open[key], at, state)
			delete(open, key)
		case event.Name == "session_ended":
			for key, l := range open {
				if key[0] == session {
					end(l, at, "ended")
					delete(open, key)
				}
			}
		}
	}
	for key, l := range open { // killed processes have no end
		if l.pid > 0 && !pid.Alive(l.pid) {
			end(l, max(last[key[0]], l.Began), "ended")
		}
	}
	spans := make([]span, len(all))
	for i, l := range all {
		spans[i] = l.span
	}
	return spans, nil
}
