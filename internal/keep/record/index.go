package record

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	_ "modernc.org/sqlite" // the driver of the index
)

// indexFile is made of the log. What it says is never believed against it: what
// is shown is read from the log.
const indexFile = "index.db"

// indexVersion is the layout. Another one is made anew.
const indexVersion = 2

const indexLayout = `
CREATE TABLE sessions (id INTEGER PRIMARY KEY, name TEXT NOT NULL, run TEXT NOT NULL, first INTEGER NOT NULL,
	last INTEGER NOT NULL, bytes INTEGER NOT NULL, UNIQUE (name, run)) STRICT;
CREATE TABLE calls (n INTEGER PRIMARY KEY, session INTEGER NOT NULL, request TEXT NOT NULL, tool TEXT NOT NULL,
	status TEXT NOT NULL, began INTEGER NOT NULL, took INTEGER NOT NULL, files INTEGER NOT NULL, by TEXT NOT NULL) STRICT;
CREATE INDEX calls_session ON calls (session, began);
CREATE INDEX calls_request ON calls (request);
CREATE INDEX calls_tool ON calls (tool, status);
CREATE INDEX calls_status ON calls (status);
CREATE INDEX calls_began ON calls (began);
CREATE TABLE entries (n INTEGER PRIMARY KEY, of INTEGER NOT NULL, session INTEGER NOT NULL, at INTEGER NOT NULL,
	segment INTEGER NOT NULL, off INTEGER NOT NULL, size INTEGER NOT NULL) STRICT;
CREATE INDEX entries_of ON entries (of);
CREATE INDEX entries_session ON entries (session, at);
CREATE INDEX entries_at ON entries (at);
CREATE TABLE paths (path TEXT NOT NULL, call INTEGER NOT NULL, PRIMARY KEY (path, call)) WITHOUT ROWID, STRICT;
CREATE TABLE place (one INTEGER PRIMARY KEY, segment INTEGER NOT NULL, off INTEGER NOT NULL, n INTEGER NOT NULL,
	hash TEXT NOT NULL) STRICT;
INSERT INTO place VALUES (1, 0, 0, 0, '');
`

// mostPaths bounds how many paths of one call are found by their name.
const mostPaths = 10_000

// index opens the index and brings it up to date. One that is damaged is made
// anew; where none can be written, it is in memory.
func (l *ledger) index(ctx context.Context) (*sql.DB, error) {
	db, err := l.openIndex(ctx, l.path(indexFile))
	if err == nil {
		if err = l.catchUp(ctx, db); err == nil {
			return db, nil
		}
		db.Close()
	}
	if ctx.Err() != nil || isBusy(err) {
		return nil, err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(l.path(indexFile + suffix))
	}
	for _, path := range []string{l.path(indexFile), ""} {
		if db, err = l.openIndex(ctx, path); err != nil {
			continue
		}
		if err = l.catchUp(ctx, db); err == nil {
			return db, nil
		}
		db.Close()
	}
	return nil, err
}

func (l *ledger) openIndex(ctx context.Context, path string) (*sql.DB, error) {
	source := ":memory:"
	if path != "" {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // before SQLite makes it for all to read
		if err != nil {
			return nil, err
		}
		file.Close()
		source = indexSource(path)
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	if path == "" {
		db.SetMaxOpenConns(1) // with which it would go
	}
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		db.Close()
		return nil, err
	}
	if version != 0 && version != indexVersion {
		db.Close()
		return nil, fmt.Errorf("the index has layout %d", version)
	}
	return db, nil
}

// indexSource waits for other writers, and leaves out what only a machine that
// loses power needs: the index can be made again.
func indexSource(path string) string {
	slashed := filepath.ToSlash(path)
	if runtime.GOOS == "windows" {
		slashed = "/" + slashed
	}
	query := url.Values{
		"_pragma": {"busy_timeout(1000)", "journal_mode(WAL)", "synchronous(OFF)", "cache_size(-16000)"},
		"_txlock": {"immediate"},
	}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}).String()
}

// mostBusy is how often one waits for others who update the index. Each of them
// adds a part alone, so that there is progress meanwhile.
const mostBusy = 100

// catchUp adds all that the log has beyond the index, a part at a time: who else
// reads or writes takes turns.
func (l *ledger) catchUp(ctx context.Context, db *sql.DB) error {
	for busy := 0; ; {
		more, err := l.update(ctx, db)
		switch {
		case isBusy(err) && busy < mostBusy && ctx.Err() == nil:
			busy++
		case err != nil || !more:
			return err
		}
	}
}

// update adds a part of what the log has beyond the index. more says that there
// may be another.
func (l *ledger) update(ctx context.Context, db *sql.DB) (more bool, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return false, err
	}
	if version == 0 {
		_, err := tx.ExecContext(ctx, indexLayout+fmt.Sprintf("PRAGMA user_version = %d", indexVersion))
		if err != nil {
			return false, err
		}
	}
	in, err := newIngest(ctx, tx)
	if err != nil {
		return false, err
	}
	if err := l.feed(in); err != nil {
		return false, err
	}
	if err := in.finish(); err != nil {
		return false, err
	}
	return in.full(), tx.Commit()
}

// feed reads the log from where the index ends.
func (l *ledger) feed(in *ingest) error {
	segments, err := l.segments()
	if err != nil {
		return err
	}
	for _, n := range segments {
		if n < in.at.segment || in.full() {
			continue
		}
		if n > in.at.segment {
			in.at.segment, in.at.end = n, 0
		}
		if err := l.feedSegment(in, n); err != nil {
			return err
		}
	}
	return nil
}

func (l *ledger) feedSegment(in *ingest, n int64) error {
	file, err := os.Open(l.segmentPath(n))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // dropped since
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() < in.at.end {
		return errors.Join(err, errors.New("the log is shorter than its index"))
	}
	r := bufio.NewReaderSize(io.NewSectionReader(file, in.at.end, 1<<62), 256<<10)
	for !in.full() && in.ctx.Err() == nil {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := in.add(line); err != nil {
			return err
		}
	}
	return in.ctx.Err()
}

// ingest adds entries to the index in one transaction.
type ingest struct {
	ctx      context.Context
	tx       *sql.Tx
	at       head
	sessions map[[2]string]*indexedSession
	stmts    map[string]*sql.Stmt
	through  int64 // what was dropped
	lines    int   // that were taken
}

// full reports that it takes no more.
func (in *ingest) full() bool { return in.lines >= indexMost }

type indexedSession struct{ id, first, last, bytes int64 }

func newIngest(ctx context.Context, tx *sql.Tx) (*ingest, error) {
	in := &ingest{ctx: ctx, tx: tx, sessions: make(map[[2]string]*indexedSession), stmts: make(map[string]*sql.Stmt)}
	err := tx.QueryRowContext(ctx, "SELECT segment, off, n, hash FROM place").Scan(&in.at.segment, &in.at.end, &in.at.n,
		&in.at.hash)
	return in, err
}

// exec runs a statement that changes one row of a table: one that may have to be
// taken back half done costs SQLite several times as much, as does one that can
// be interrupted.
func (in *ingest) exec(query string, args ...any) error {
	stmt := in.stmts[query]
	if stmt == nil {
		var err error
		if stmt, err = in.tx.PrepareContext(in.ctx, query); err != nil {
			return err
		}
		in.stmts[query] = stmt
	}
	_, err := stmt.ExecContext(context.WithoutCancel(in.ctx), args...)
	return err
}

// facts are what the index takes from the fields of an entry.
type facts struct {
	RequestID string   `json:"request_id"`
	Tool      string   `json:"tool"`
	Status    string   `json:"status"`
	Error     string   `json:"error"`
	Action    string   `json:"action"`
	Duration  float64  `json:"duration_sec"`
	Files     []string `json:"files_affected"`
	DryRun    bool     `json:"dry_run"`
}

// add takes a line. One that is none of an entry is passed over: what is wrong
// with it is for verify to say.
func (in *ingest) add(line []byte) error {
	in.lines++
	off := in.at.end
	in.at.end += int64(len(line))
	e, hash, err := readEntry(line)
	if err != nil || e.N <= in.at.n {
		return nil
	}
	in.at.n, in.at.hash = e.N, hash
	if through, ok := e.dropped(); ok {
		in.through = max(in.through, through)
		return nil
	}
	at := e.time().UnixMicro()
	session, err := in.session(&e, at)
	if err != nil {
		return err
	}
	session.last, session.bytes = max(session.last, at), session.bytes+int64(len(line))
	if e.Blob != nil {
		session.bytes += e.Blob.Bytes
	}
	of := e.Of
	if of == 0 && e.Event == startedEvent {
		of = e.N
	}
	if err := in.exec("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", e.N, of, session.id, at,
		in.at.segment, off, len(line)); err != nil || of == 0 {
		return err
	}
	return in.call(&e, of, session.id, at)
}

// call adds what an entry says of its call.
func (in *ingest) call(e *entry, of, session, at int64) error {
	var f facts
	switch e.Event {
	case startedEvent, askedEvent, decidedEvent, finishedEvent:
		if err := json.Unmarshal(e.Body, &f); err != nil {
			return nil
		}
	}
	switch e.Event {
	case startedEvent:
		if e.Of != 0 {
			return in.exec("UPDATE calls SET status = ?, by = ? WHERE n = ?", StatusRunning, e.By, of)
		}
		return in.exec("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, 0, 0, ?)", of, session, f.RequestID,
			f.Tool,
			StatusRunning, at, e.By)
	case askedEvent:
		return in.exec("UPDATE calls SET status = ? WHERE n = ?", StatusAsks, of)
	case finishedEvent:
		for _, path := range f.Files[:min(len(f.Files), mostPaths)] {
			if err := in.exec("INSERT OR IGNORE INTO paths VALUES (?, ?)", path, of); err != nil {
				return err
			}
		}
		return in.exec("UPDATE calls SET status = ?, took = ?, files = ? WHERE n = ?", f.status(),
			int64(f.Duration*1e6), len(f.Files), of)
	}
	return nil
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

func (in *ingest) session(e *entry, at int64) (*indexedSession, error) {
	key := [2]string{e.Session, e.Run}
	if s := in.sessions[key]; s != nil {
		return s, nil
	}
	if err := in.exec("INSERT OR IGNORE INTO sessions (name, run, first, last, bytes) VALUES (?, ?, ?, ?, 0)",
		e.Session,
		e.Run, at, at); err != nil {
		return nil, err
	}
	s := new(indexedSession)
	err := in.tx.QueryRowContext(in.ctx, "SELECT id, first, last, bytes FROM sessions WHERE name = ? AND run = ?",
		e.Session, e.Run).Scan(&s.id, &s.first, &s.last, &s.bytes)
	in.sessions[key] = s
	return s, err
}

// finish writes what was counted, drops what the log no longer has, and keeps
// the place.
func (in *ingest) finish() error {
	for _, s := range in.sessions {
		if err := in.exec("UPDATE sessions SET last = ?, bytes = ? WHERE id = ?", s.last, s.bytes, s.id); err != nil {
			return err
		}
	}
	if in.through > 0 {
		for _, query := range []string{
			"DELETE FROM paths WHERE call <= ?", "DELETE FROM calls WHERE n <= ?", "DELETE FROM entries WHERE n <= ?",
			"DELETE FROM sessions WHERE id NOT IN (SELECT session FROM entries) AND ?1 > 0"} {
			if err := in.exec(query, in.through); err != nil {
				return err
			}
		}
	}
	return in.exec("UPDATE place SET segment = ?, off = ?, n = ?, hash = ?", in.at.segment, in.at.end, in.at.n,
		in.at.hash)
}
