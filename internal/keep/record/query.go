package record

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

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

// CallName names a call.
type CallName struct {
	Session string `json:"session"`
	Request string `json:"request"`
}

// Filter chooses calls. The zero Filter chooses all, and the events of none too.
type Filter struct {
	// Session, Tool and Request are exact. Status is one of the states, the code
	// of an error, or "error" for all errors.
	Session, Tool, Request, Status string
	// Path is a file that the call changed, or a directory that one lies in.
	Path string
	// Also are further calls that changed it, as undo knows them.
	Also []CallName
	// Since and Until bound when the call began.
	Since, Until time.Time
	// Last takes the last ones alone. Zero takes all.
	Last int

	run string
	ids string // of the sessions that are meant, as the index numbers them
}

// calls reports whether the filter is about calls, so that events of none are
// left out.
func (f *Filter) calls() bool {
	return f.Tool != "" || f.Request != "" || f.Status != "" || f.Path != ""
}

// byTime reports whether what is chosen is found fastest in order of time, of
// which the index has one for each session and one for all.
func (f *Filter) byTime() bool {
	return !f.calls() && (f.ids != "" && f.Last > 0 || !f.Since.IsZero() || !f.Until.IsZero())
}

// where is the condition on the tables calls as c and entries as e, where at is
// the column of the time. What is chosen by something that few have is not looked
// for by session or time.
func (f *Filter) where(at string, few bool) (condition string, args []any) {
	if few || f.Request != "" || f.Path != "" || f.Status != "" {
		at = "+" + at
	}
	var all []string
	add := func(condition string, values ...any) {
		all = append(all, condition)
		args = append(args, values...)
	}
	if f.ids != "" {
		table, _, _ := strings.Cut(at, ".")
		add(table + ".session " + f.ids)
	}
	if f.Tool != "" {
		add("c.tool = ?", f.Tool)
	}
	if f.Request != "" {
		add("c.request = ?", f.Request)
	}
	switch f.Status {
	case "":
	case "error":
		add("c.status NOT IN (?, ?, ?, ?)", StatusRunning, StatusAsks, StatusSuccess, StatusDryRun)
	case StatusLost, StatusRunning:
		add("c.status = ?", StatusRunning)
	default:
		add("c.status = ?", f.Status)
	}
	if path := strings.TrimSuffix(f.Path, "/"); path != "" {
		also := tool.MustMarshal(append([]CallName{}, f.Also...))
		add(`c.n IN (SELECT call FROM paths WHERE path = ? OR path > ? AND path < ?
			UNION SELECT k.n FROM json_each(?) j JOIN calls k ON k.request = j.value ->> 'request'
			JOIN sessions o ON o.id = k.session AND o.name = j.value ->> 'session')`,
			path, path+"/", path+"0", string(also))
	}
	if !f.Since.IsZero() {
		add(at+" >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		add(at+" < ?", f.Until.UnixMicro())
	}
	if len(all) == 0 {
		return "TRUE", nil
	}
	return strings.Join(all, " AND "), args
}

// Event is one event of the record.
type Event struct {
	// Session is whose it is.
	Session string
	// Name is the kind of event.
	Name string
	// Time is when it was written, in UTC.
	Time time.Time
	// Line is the whole JSON object, without a newline.
	Line json.RawMessage
}

// followPause is how often a follower looks for more.
const followPause = 100 * time.Millisecond

// Events reads the record, oldest event first. It ends with the record, or,
// when following, with ctx; an error is the last thing it gives.
func (r *Recorder) Events(ctx context.Context, f Filter, follow bool) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := r.events(ctx, f, follow, yield); err != nil && ctx.Err() == nil {
			yield(Event{}, err)
		}
	}
}

func (r *Recorder) events(ctx context.Context, f Filter, follow bool, yield func(Event, error) bool) error {
	last := int64(0)
	for {
		db, err := r.openRead(ctx)
		if err != nil {
			return err
		}
		if db != nil {
			more, err := r.eventsOnce(ctx, db, &f, &last, yield)
			db.Close()
			if err != nil || !more {
				return r.failed(err)
			}
		}
		if !follow {
			return nil
		}
		f.Last = 0
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followPause):
		}
	}
}

// openRead opens the index, nil where there is no record yet.
func (r *Recorder) openRead(ctx context.Context) (*sql.DB, error) {
	if r.log == nil {
		return nil, errNoRecord()
	}
	if _, err := os.Stat(r.log.path("log")); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	db, err := r.log.index(ctx)
	return db, r.failed(err)
}

func (r *Recorder) failed(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return failure("read", r.log.dir, err)
}

// filtered is the filter with the sessions looked up: a session of that name and
// no other can be read from the index in order.
func (r *Recorder) filtered(ctx context.Context, db *sql.DB, f *Filter) (*Filter, error) {
	filter := *f
	if r.options.Single {
		filter.run = r.options.Root
	}
	if filter.Session == "" && filter.run == "" {
		return &filter, nil
	}
	var ids sql.NullString
	var count int
	err := db.QueryRowContext(ctx, `SELECT group_concat(id), count(*) FROM sessions
		WHERE (?1 = '' OR name = ?1) AND (?2 = '' OR run = ?2)`, filter.Session, filter.run).Scan(&ids, &count)
	switch count {
	case 0:
		filter.ids = "= -1"
	case 1:
		filter.ids = "= " + ids.String
	default:
		filter.ids = "IN (" + ids.String + ")"
	}
	return &filter, err
}

// eventsOnce gives what is there beyond last.
func (r *Recorder) eventsOnce(ctx context.Context, db *sql.DB, f *Filter, last *int64,
	yield func(Event, error) bool) (more bool, err error) {
	filter, err := r.filtered(ctx, db, f)
	if err != nil {
		return false, err
	}
	where, args := filter.where("e.at", *last > 0)
	from := "entries e"
	if filter.calls() {
		where, args = filter.where("c.began", *last > 0)
		from = "calls c CROSS JOIN entries e ON e.of = c.n"
	}
	after, order, limit := "+e.n", "e.n", ""
	if *last > 0 { // a follower looks at what is new alone
		after = "e.n"
	}
	switch {
	case filter.byTime():
		order, limit = "e.at DESC, e.n DESC", " LIMIT ?"
	case f.Last > 0:
		order, limit = "e.n DESC", " LIMIT ?"
	}
	if limit != "" {
		args = append(args, cmp.Or(f.Last, -1))
	}
	args = append([]any{*last}, args...)
	query := "SELECT e.n, e.segment, e.off, e.size FROM " + from + " WHERE " + after + " > ? AND " + where +
		" ORDER BY " +
		order + limit
	if limit != "" {
		query = "SELECT * FROM (" + query + ") ORDER BY 1"
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	reader := &lineReader{log: r.log}
	defer reader.close()
	for rows.Next() {
		var place place
		if err := rows.Scan(last, &place.segment, &place.off, &place.size); err != nil {
			return false, err
		}
		event, ok := reader.event(place)
		if ok && !yield(event, nil) {
			return false, nil
		}
	}
	return true, rows.Err()
}

// place says where an entry's line is.
type place struct{ segment, off, size int64 }

// lineReader reads lines of the log and keeps the segment open that it reads.
type lineReader struct {
	log     *ledger
	file    *os.File
	segment int64
}

func (r *lineReader) close() {
	if r.file != nil {
		r.file.Close()
	}
}

func (r *lineReader) entry(p place) (*entry, error) {
	if r.file == nil || r.segment != p.segment {
		file, err := os.Open(r.log.segmentPath(p.segment))
		if err != nil {
			return nil, err
		}
		r.close()
		r.file, r.segment = file, p.segment
	}
	line := make([]byte, p.size)
	if _, err := r.file.ReadAt(line, p.off); err != nil {
		return nil, err
	}
	e, _, err := readEntry(line)
	return &e, err
}

// event is an entry as an event. One that was dropped meanwhile is none, nor one
// that cannot be read, of which verify tells.
func (r *lineReader) event(p place) (Event, bool) {
	e, err := r.entry(p)
	if err != nil {
		return Event{}, false
	}
	var whole json.RawMessage
	if e.Holds == shown {
		if whole, err = r.log.load(p.segment, e); err != nil {
			whole = marshalText("[" + err.Error() + "]")
		}
	}
	return Event{Session: e.Session, Name: e.Event, Time: e.time(), Line: e.line(whole, true)}, true
}

// Session is what the record has of one session.
type Session struct {
	Name string
	// Changed is when something of it was last recorded.
	Changed time.Time
	// Bytes is the size of its entries and of what they hold.
	Bytes int64
}

// Sessions lists the sessions, the least recently changed first.
func (r *Recorder) Sessions(ctx context.Context) ([]Session, error) {
	db, err := r.openRead(ctx)
	if db == nil {
		return []Session{}, err
	}
	defer db.Close()
	where, args := "TRUE", []any{}
	if r.options.Single {
		where, args = "run = ?", []any{r.options.Root}
	}
	rows, err := db.QueryContext(ctx, "SELECT name, max(last), sum(bytes) FROM sessions WHERE "+where+
		" AND name <> '' GROUP BY name ORDER BY 2", args...)
	if err != nil {
		return nil, r.failed(err)
	}
	defer rows.Close()
	sessions := []Session{}
	for rows.Next() {
		var s Session
		var last int64
		if err := rows.Scan(&s.Name, &last, &s.Bytes); err != nil {
			return nil, r.failed(err)
		}
		s.Changed = time.UnixMicro(last)
		sessions = append(sessions, s)
	}
	return sessions, r.failed(rows.Err())
}

// HasSession reports whether the record has something of a session, and the
// error that says that it has not.
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

func isBusy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlitelib.SQLITE_BUSY || e.Code()&0xff == sqlitelib.SQLITE_LOCKED)
}
