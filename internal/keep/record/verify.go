package record

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// Problem is something in the record that is not as it was written.
type Problem struct {
	// Where names the file and the line, or the blob.
	Where string `json:"where"`
	// Entry is the number of the entry, 0 where it is not known.
	Entry int64 `json:"entry,omitempty"`
	// Session is whose entry it is, "" where it is not known.
	Session string `json:"session,omitempty"`
	// What says what is wrong.
	What string `json:"what"`
}

// Verified is what a check of the record found.
type Verified struct {
	Entries  int64     `json:"entries"`
	Blobs    int64     `json:"blobs"`
	First    int64     `json:"first_entry,omitempty"`
	Problems []Problem `json:"problems"`
	// Open are the calls that have begun and not ended.
	Open int64 `json:"open"`
}

// mostProblems bounds how many are told.
const mostProblems = 100

// Verify reads the whole record and checks that each entry is what was written,
// where it was written, and that what it holds is there. With a session the
// problems of other sessions' entries are left out, not those of the log itself.
func (r *Recorder) Verify(ctx context.Context, session string) (*Verified, error) {
	found := &Verified{Problems: []Problem{}}
	if r.log == nil {
		return nil, errNoRecord()
	}
	if _, err := os.Stat(r.log.path("log")); errors.Is(err, os.ErrNotExist) {
		return found, nil
	}
	v := &verifier{log: r.log, session: session, found: found, hash: zeroHash, open: make(map[int64]*indexedCall)}
	release, at, ok, err := r.log.hold()
	if err != nil {
		return nil, r.failed(err)
	}
	defer release()
	if err = v.run(ctx, at, ok); err == nil {
		err = v.index(ctx)
	}
	found.Open = int64(len(v.open))
	return found, r.failed(err)
}

// hold keeps the log as it is, with the head as it stands.
func (l *ledger) hold() (release func(), at head, ok bool, err error) {
	l.mu.Lock()
	if err = l.open(); err == nil {
		if release, err = lockHandle(l.lock); err == nil {
			at, ok, err = readHead(l.head)
			unlock := release
			return func() { unlock(); l.mu.Unlock() }, at, ok, err
		}
	}
	l.mu.Unlock()
	return nil, at, false, err
}

type verifier struct {
	log     *ledger
	session string
	found   *Verified

	segment int64
	hash    string
	n       int64 // of the last entry
	began   bool
	through int64 // what was dropped, as the log says
	open    map[int64]*indexedCall
	rows    int64
	sum     uint64 // of what the index has to say
}

func (v *verifier) problem(p Problem) {
	if v.session != "" && p.Session != "" && p.Session != v.session {
		return
	}
	if len(v.found.Problems) < mostProblems {
		v.found.Problems = append(v.found.Problems, p)
	}
}

func (v *verifier) run(ctx context.Context, at head, ok bool) error {
	segments, err := v.log.segments()
	if err == nil {
		segments, err = v.log.withoutDropped(segments, &at)
	}
	if err != nil {
		return err
	}
	for i, n := range segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		if i > 0 && n != v.segment+1 {
			v.problem(Problem{Where: segmentName(v.segment + 1), What: "the file is missing"})
		}
		v.segment = n
		if err := v.readSegment(n, at, ok && n == at.segment); err != nil {
			return err
		}
	}
	if v.found.First > 1 && v.through < v.found.First-1 {
		v.problem(Problem{Where: "log", What: fmt.Sprintf("the entries before %d are missing, and were not pruned",
			v.found.First)})
	}
	switch {
	case !ok && len(segments) > 0:
		v.problem(Problem{Where: "head",
			What: "it is missing or was changed, so that entries at the end may be missing"})
	case ok && at.n > v.n:
		v.problem(Problem{Where: segmentName(at.segment), Entry: v.n + 1,
			What: fmt.Sprintf("the entries %d to %d are missing at the end", v.n+1, at.n)})
	}
	return nil
}

func (v *verifier) readSegment(n int64, at head, current bool) error {
	file, err := os.Open(v.log.segmentPath(n))
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 256<<10)
	off := int64(0)
	for line := 1; ; line++ {
		data, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(data) > 0 && !(current && off >= at.end) {
				v.problem(Problem{Where: fmt.Sprintf("%s:%d", segmentName(n), line), What: "the line has no end"})
			}
			return nil
		}
		if err != nil {
			return err
		}
		v.line(fmt.Sprintf("%s:%d", segmentName(n), line), data, line == 1, off)
		off += int64(len(data))
	}
}

// line checks one line of the log.
func (v *verifier) line(where string, line []byte, first bool, off int64) {
	data, hash, err := unseal(line)
	if err != nil {
		v.problem(Problem{Where: where, What: "the line is not an entry of the record"})
		return
	}
	e, _, err := readEntry(line)
	problem := Problem{Where: where, Entry: e.N, Session: e.Session}
	switch {
	case err != nil:
		problem.What, problem.Session = "the entry has been changed: it cannot be read", ""
	case !v.began && first:
		v.hash, v.n, v.found.First = e.Prev, e.N-1, e.N
	}
	if !v.began && e.N == 1 {
		v.hash = zeroHash
	}
	v.began = true
	switch {
	case problem.What != "":
	case chain(v.hash, data) != hash && e.N != v.n+1:
		problem.What = fmt.Sprintf("it does not follow entry %d: entries are missing, were changed, or are in another order",
			v.n)
	case chain(v.hash, data) != hash:
		problem.What = "the entry has been changed, or the one before it"
	case e.N != v.n+1:
		problem.What = fmt.Sprintf("the entry has number %d after %d", e.N, v.n)
	}
	if problem.What != "" {
		if chain(v.hash, data) != hash {
			problem.Session = "" // nothing that it says can be relied on
		}
		v.problem(problem)
	}
	if e.N > v.n {
		v.n = e.N
	} else {
		v.n++
	}
	v.hash = hash
	v.found.Entries++
	v.entry(&e, off, int64(len(line)))
}

// entry checks what an entry holds, and notes what the index has to say of it.
func (v *verifier) entry(e *entry, off, size int64) {
	if e.Blob != nil {
		v.found.Blobs++
		if _, err := v.log.load(v.segment, e); err != nil {
			v.problem(Problem{Where: fmt.Sprintf("blobs/%08d/%s.gz", v.segment, e.Blob.Hash), Entry: e.N,
				Session: e.Session,
				What:    fmt.Sprintf("the %s of the call cannot be read: %v", e.Holds, err)})
		}
	}
	if through, ok := e.dropped(); ok {
		v.through = max(v.through, through)
		return
	}
	of := e.Of
	if of == 0 && e.Event == startedEvent {
		of = e.N
	}
	v.rows++
	v.sum += rowSum("entry", e.N, of, v.segment, off, size)
	v.call(e, of)
}

// indexedCall is what the index has of a call, apart from its time.
type indexedCall struct {
	tool, request, status string
	files                 int
}

func (c *indexedCall) sum(n int64) uint64 {
	return rowSum("call", n, c.tool, c.request, c.status, c.files)
}

// call notes what an entry says of its call.
func (v *verifier) call(e *entry, of int64) {
	var f facts
	switch e.Event {
	case startedEvent, askedEvent, finishedEvent:
		if json.Unmarshal(e.Body, &f) != nil {
			return
		}
	}
	call := v.open[of]
	switch {
	case e.Event == startedEvent && call == nil:
		v.open[of] = &indexedCall{tool: f.Tool, request: f.RequestID, status: StatusRunning}
	case call == nil:
	case e.Event == startedEvent:
		call.status = StatusRunning
	case e.Event == askedEvent:
		call.status = StatusAsks
	case e.Event == finishedEvent:
		call.status, call.files = f.status(), len(f.Files)
		delete(v.open, of)
		v.rows++
		v.sum += call.sum(of)
	}
}

// rowSum is the same for the same row of the index, wherever it stands.
func rowSum(values ...any) uint64 {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%q", values)
	return sum.Sum64()
}

// indexed adds up what the index says.
func indexed(ctx context.Context, db *sql.DB) (count int64, sum uint64, err error) {
	rows, err := db.QueryContext(ctx, "SELECT n, of, segment, off, size FROM entries")
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var n, of, segment, off, size int64
		if err := rows.Scan(&n, &of, &segment, &off, &size); err != nil {
			return 0, 0, err
		}
		count++
		sum += rowSum("entry", n, of, segment, off, size)
	}
	if err := rows.Err(); err != nil {
		return 0, 0, err
	}
	calls, err := db.QueryContext(ctx, "SELECT n, tool, request, status, files FROM calls")
	if err != nil {
		return 0, 0, err
	}
	defer calls.Close()
	for calls.Next() {
		var n int64
		var c indexedCall
		if err := calls.Scan(&n, &c.tool, &c.request, &c.status, &c.files); err != nil {
			return 0, 0, err
		}
		count++
		sum += c.sum(n)
	}
	return count, sum, calls.Err()
}

// index compares the index with what was read. One that is not of this log is
// made anew when somebody reads.
func (v *verifier) index(ctx context.Context) error {
	if len(v.found.Problems) > 0 {
		return nil // what the log says is not to be relied on
	}
	if _, err := os.Stat(v.log.path(indexFile)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	db, err := v.log.openIndex(ctx, v.log.path(indexFile))
	if err == nil {
		defer db.Close()
		err = v.log.catchUp(ctx, db)
	}
	var rows int64
	var sum uint64
	if err == nil {
		rows, sum, err = indexed(ctx, db)
	}
	for n, call := range v.open {
		v.rows++
		v.sum += call.sum(n)
	}
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil || rows != v.rows || sum != v.sum {
		v.problem(Problem{Where: indexFile, What: "it does not say what the log says; delete it, and it is made anew"})
	}
	return nil
}
