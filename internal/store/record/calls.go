package record

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Call is one call in the record.
type Call struct {
	// N is the number of its first entry.
	N       int64
	Session string
	Request string
	Tool    string
	// Status is one of the states, or the code of the error.
	Status string
	Began  time.Time
	Took   time.Duration
	// Waited is the part of Took spent waiting for a person's approval.
	Waited time.Duration
	// Client is the client's name for itself.
	Client string
	// Files is how many files it changed.
	Files int
	// Params are its parameters, with long texts truncated.
	Params json.RawMessage
	// Says reports whether the call contains Filter.Text, true without one.
	Says bool

	run, by string
	paths   []string
}

type facts struct {
	RequestID string   `json:"request_id"`
	Tool      string   `json:"tool"`
	Status    string   `json:"status"`
	Error     string   `json:"error"`
	Duration  float64  `json:"duration_sec"`
	Files     []string `json:"files_affected"`
	DryRun    bool     `json:"dry_run"`
	Answer    string   `json:"answer"`
}

func (f *facts) status() string {
	switch {
	case f.Status != StatusSuccess:
		return f.Error
	case f.DryRun:
		return StatusDryRun
	}
	return StatusSuccess
}

func (c *Call) add(line []byte) {
	h, ok := readHeader(line)
	if !ok {
		return
	}
	var said struct {
		By   string `json:"by"`
		Body facts  `json:"body"`
		More struct {
			Client string `json:"client"`
		} `json:"more"`
	}
	switch h.event {
	case startedEvent, decidedEvent, finishedEvent:
		if json.Unmarshal(line, &said) != nil {
			return
		}
	}
	switch h.event {
	case startedEvent:
		c.Status, c.by = StatusRunning, said.By
		if h.of == 0 {
			c.Session, c.run, c.Request, c.Tool = h.session, h.run, said.Body.RequestID, said.Body.Tool
			began, _ := time.Parse(timeFormat, h.at)
			c.Began, c.Client = began.Local(), said.More.Client
		}
	case askedEvent:
		c.Status = StatusAsks
	case decidedEvent:
		if at, err := time.Parse(timeFormat, h.at); err == nil && said.Body.Answer != "" {
			c.Waited = at.Sub(c.Began)
		}
	case finishedEvent:
		c.Status, c.Files, c.paths = said.Body.status(), len(said.Body.Files), said.Body.Files
		c.Took = time.Duration(said.Body.Duration*1e6) * time.Microsecond
	}
}

// Calls returns the selected calls in the order they began.
func (r *Recorder) Calls(ctx context.Context, f Filter) ([]Call, error) {
	v, err := r.view()
	if v == nil {
		return nil, err
	}
	calls := []Call{}
	err = v.eachCall(ctx, r.filtered(f), func(c *Call, lines []entryLine) bool {
		if e, err := readEntry(lines[0].line); err == nil {
			if whole, err := r.log.load(lines[0].segment, &e); err == nil {
				c.Params = cutTexts(whole)
			}
		}
		c.Says = f.Text == "" || r.says(lines, f.Text)
		calls = append(calls, *c)
		return true
	})
	slices.Reverse(calls)
	return calls, r.failed(err)
}

// says reports whether a text is in the entries of a call: its parameters, its result, and its error. JSON has
// a text verbatim, or with non-ASCII characters escaped.
func (r *Recorder) says(lines []entryLine, text string) bool {
	plain := strings.ToLower(text)
	ways := []string{plain}
	for _, quoted := range []string{string(marshalText(plain)), strconv.QuoteToASCII(plain)} {
		if way := quoted[1 : len(quoted)-1]; !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	holds := func(data []byte) bool {
		lower := strings.ToLower(string(data))
		return slices.ContainsFunc(ways, func(way string) bool { return strings.Contains(lower, way) })
	}
	for _, line := range lines {
		if holds(line.line) {
			return true
		}
		if e, err := readEntry(line.line); err == nil {
			if whole, err := r.log.load(line.segment, &e); err == nil && holds(whole) {
				return true
			}
		}
	}
	return false
}

// Detail is all that the record has of one call.
type Detail struct {
	// Entry is the number of its first entry.
	Entry   int64     `json:"-"`
	Session string    `json:"session"`
	Request string    `json:"request_id"`
	Tool    string    `json:"tool"`
	Status  string    `json:"status"`
	Began   time.Time `json:"began"`
	// Facts are the fields of its first and last entries, by name.
	Facts map[string]json.RawMessage `json:"facts,omitempty"`
	// Params, Result and Plan are complete, as far as kept.
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Plan   json.RawMessage `json:"plan,omitempty"`
	// Problems says what of it is missing or was changed.
	Problems []string `json:"problems,omitempty"`
	// Events are all its events.
	Events []json.RawMessage `json:"events"`
}

// Show returns the last call selected by the filter.
func (r *Recorder) Show(ctx context.Context, f Filter) (*Detail, error) {
	var d *Detail
	v, err := r.view()
	if v != nil {
		f.Last = 1
		err = r.failed(v.eachCall(ctx, r.filtered(f), func(c *Call, lines []entryLine) bool {
			d = &Detail{Entry: c.N, Session: c.Session, Request: c.Request, Tool: c.Tool, Status: c.Status,
				Began: c.Began.UTC(), Facts: make(map[string]json.RawMessage)}
			for _, line := range lines {
				r.addEntry(d, line)
			}
			return true
		}))
	}
	if err == nil && d == nil {
		err = tool.Errorf(tool.NotFound, "the record has no call %s", f.Request).
			Suggest("`toolhost events` lists the calls; with --session NAME those of one session.")
	}
	return d, err
}

func (r *Recorder) addEntry(d *Detail, from entryLine) {
	e, err := readEntry(from.line)
	if err != nil {
		d.Problems = append(d.Problems, "an entry of the call cannot be read: "+err.Error())
		return
	}
	d.Events = append(d.Events, e.line(nil, true))
	switch e.Event {
	case startedEvent, finishedEvent, decidedEvent:
		_ = json.Unmarshal(e.Body, &d.Facts)
		if len(e.More) > 0 {
			_ = json.Unmarshal(e.More, &d.Facts)
		}
	}
	if e.Holds == "" {
		return
	}
	whole, err := r.log.load(from.segment, &e)
	if err != nil {
		d.Problems = append(d.Problems, "the "+e.Holds+" of the call cannot be read: "+err.Error())
	}
	switch e.Holds {
	case "params":
		d.Params = whole
	case "result":
		d.Result = whole
	case "plan":
		d.Plan = whole
	}
}
