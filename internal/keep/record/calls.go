package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Call is one call as the record has it.
type Call struct {
	// N is the number of the entry that it began with.
	N       int64
	Session string
	Request string
	Tool    string
	// Status is one of the states, or the code of the error.
	Status string
	Began  time.Time
	Took   time.Duration
	// Files is how many it changed.
	Files int
	// Params are its parameters, with long texts cut.
	Params json.RawMessage
}

// Calls gives the calls that the filter chooses, in the order in which they
// began.
func (r *Recorder) Calls(ctx context.Context, f Filter) ([]Call, error) {
	db, err := r.openRead(ctx)
	if db == nil {
		return nil, err
	}
	defer db.Close()
	calls, err := r.selectCalls(ctx, db, &f)
	return calls, r.failed(err)
}

func (r *Recorder) selectCalls(ctx context.Context, db *sql.DB, f *Filter) ([]Call, error) {
	filter, err := r.filtered(ctx, db, f)
	if err != nil {
		return nil, err
	}
	where, args := filter.where("c.began", false)
	order := "c.n DESC"
	if filter.byTime() {
		order = "c.began DESC, c.n DESC"
	}
	query := `SELECT c.n, s.name, c.request, c.tool, c.status, c.began, c.took, c.files, c.by, e.segment, e.off, e.size
		FROM calls c JOIN sessions s ON s.id = c.session JOIN entries e ON e.n = c.n WHERE ` + where + " ORDER BY " + order
	if f.Last > 0 && f.Status != StatusLost && f.Status != StatusRunning {
		query += " LIMIT ?"
		args = append(args, f.Last)
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	reader := &lineReader{log: r.log}
	defer reader.close()
	calls := []Call{}
	for rows.Next() && (f.Last == 0 || len(calls) < f.Last) {
		var c Call
		var began, took int64
		var by string
		var at place
		if err := rows.Scan(&c.N, &c.Session, &c.Request, &c.Tool, &c.Status, &began, &took, &c.Files, &by, &at.segment,
			&at.off, &at.size); err != nil {
			return nil, err
		}
		c.Began, c.Took = time.UnixMicro(began), time.Duration(took)*time.Microsecond
		if c.Status == StatusRunning && !r.log.alive(by) {
			c.Status = StatusLost
		}
		if (f.Status == StatusLost || f.Status == StatusRunning) && c.Status != f.Status {
			continue
		}
		if e, err := reader.entry(at); err == nil {
			if whole, err := r.log.load(at.segment, e); err == nil {
				c.Params = cutTexts(whole)
			}
		}
		calls = append(calls, c)
	}
	slices.Reverse(calls)
	return calls, rows.Err()
}

// Detail is all that the record has of one call.
type Detail struct {
	// Entry is the number of the entry that it began with.
	Entry   int64     `json:"-"`
	Session string    `json:"session"`
	Request string    `json:"request_id"`
	Tool    string    `json:"tool"`
	Status  string    `json:"status"`
	Began   time.Time `json:"began"`
	// Facts are the fields of its beginning and its end, by name.
	Facts map[string]json.RawMessage `json:"facts,omitempty"`
	// Params, Result and Plan are whole, as far as they are kept.
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Plan   json.RawMessage `json:"plan,omitempty"`
	// Problems says what of it is missing or was changed.
	Problems []string `json:"problems,omitempty"`
	// Events are all its events.
	Events []json.RawMessage `json:"events"`
}

// Show gives the last call that the filter chooses.
func (r *Recorder) Show(ctx context.Context, f Filter) (*Detail, error) {
	missing := tool.Errorf(tool.NotFound, "the record has no call %s", f.Request).
		Suggest("`toolhost events` lists the calls; with --session NAME those of one session.")
	db, err := r.openRead(ctx)
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, missing
	}
	defer db.Close()
	f.Last = 1
	calls, err := r.selectCalls(ctx, db, &f)
	if err != nil {
		return nil, r.failed(err)
	}
	if len(calls) == 0 {
		return nil, missing
	}
	d := detailOf(&calls[0])
	return d, r.failed(r.fill(ctx, db, d, calls[0].N))
}

func detailOf(c *Call) *Detail {
	return &Detail{Entry: c.N, Session: c.Session, Request: c.Request, Tool: c.Tool, Status: c.Status,
		Began: c.Began.UTC(), Facts: make(map[string]json.RawMessage)}
}

// fill adds what the entries of a call say.
func (r *Recorder) fill(ctx context.Context, db *sql.DB, d *Detail, n int64) error {
	rows, err := db.QueryContext(ctx, "SELECT segment, off, size FROM entries WHERE of = ? ORDER BY n", n)
	if err != nil {
		return err
	}
	defer rows.Close()
	reader := &lineReader{log: r.log}
	defer reader.close()
	for rows.Next() {
		var at place
		if err := rows.Scan(&at.segment, &at.off, &at.size); err != nil {
			return err
		}
		e, err := reader.entry(at)
		if err != nil {
			d.Problems = append(d.Problems, "an entry of the call cannot be read: "+err.Error())
			continue
		}
		r.addEntry(d, e, at.segment)
	}
	return rows.Err()
}

func (r *Recorder) addEntry(d *Detail, e *entry, segment int64) {
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
	whole, err := r.log.load(segment, e)
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

// Details gives all that is kept of the calls that the filter chooses, in the
// order in which they began. One is read at a time; an error is the last thing
// it gives.
func (r *Recorder) Details(ctx context.Context, f Filter) iter.Seq2[*Detail, error] {
	return func(yield func(*Detail, error) bool) {
		db, err := r.openRead(ctx)
		if db == nil {
			if err != nil {
				yield(nil, err)
			}
			return
		}
		defer db.Close()
		calls, err := r.selectCalls(ctx, db, &f)
		if err != nil {
			yield(nil, r.failed(err))
			return
		}
		slices.SortStableFunc(calls, func(a, b Call) int { return int(a.N - b.N) })
		for i := range calls {
			d := detailOf(&calls[i])
			err := r.failed(r.fill(ctx, db, d, calls[i].N))
			if err == nil && ctx.Err() != nil {
				err = tool.Errorf(tool.Cancelled, "reading the record was interrupted")
			}
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}
