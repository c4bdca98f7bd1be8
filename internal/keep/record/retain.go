package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Limits bounds what is kept.
type Limits struct {
	// Age is how long something is kept after its last change. Zero means 30 days.
	Age time.Duration
	// Bytes is what all may take together; the oldest goes first. Zero means
	// 1 GiB.
	Bytes int64
	// Quiet protects runs of copies that changed so recently, because another
	// process may be writing to them. Zero means an hour.
	Quiet time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.Age == 0 {
		l.Age = 30 * 24 * time.Hour
	}
	if l.Bytes == 0 {
		l.Bytes = 1 << 30
	}
	if l.Quiet == 0 {
		l.Quiet = time.Hour
	}
	return l
}

// segment is how large a segment may grow, so that dropping one is enough.
func (l Limits) segment() int64 { return min(max(l.Bytes/64, 64<<10), mostInSegment) }

// prunedEvent is the entry that says what was dropped from the log.
const prunedEvent = "record_pruned"

type pruned struct {
	Through int64  `json:"through"` // the last entry that is gone
	Why     string `json:"why"`
}

// prune drops the oldest segments beyond the limits, never the one that is
// written to. The log says so first. The lock is held.
func (l *ledger) prune(at *head, why string, limits Limits) error {
	segments, err := l.segments()
	if err != nil {
		return err
	}
	sizes := make([]int64, len(segments))
	total := fileSize(l.path(indexFile))
	for i, n := range segments {
		sizes[i] = l.segmentSize(n)
		total += sizes[i]
	}
	drop := 0
	for drop < len(segments) && segments[drop] < at.segment &&
		(total > limits.Bytes-2*limits.segment() || l.olderThan(segments[drop], limits.Age)) {
		total -= sizes[drop]
		drop++
	}
	if drop == 0 {
		return nil
	}
	through, err := l.lastBefore(segments, drop, at)
	if err != nil {
		return err
	}
	body, err := marshal(pruned{through, why})
	if err != nil {
		return err
	}
	e := &entry{At: l.now().UTC().Format(timeFormat), Event: prunedEvent, Body: body}
	if err := l.write(at, e, nil); err != nil {
		return err
	}
	var errs []error
	for _, n := range segments[:drop] {
		errs = append(errs, os.RemoveAll(l.blobDir(n)), os.Remove(l.segmentPath(n)))
	}
	return errors.Join(errs...)
}

// lastBefore is the number of the last entry in the segments that are dropped.
func (l *ledger) lastBefore(segments []int64, drop int, at *head) (int64, error) {
	if drop == len(segments) {
		return at.n, nil
	}
	file, err := os.Open(l.segmentPath(segments[drop]))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	line, err := bufio.NewReader(file).ReadBytes('\n')
	if err != nil && len(line) == 0 { // nothing was written to it yet
		return at.n, nil
	}
	e, _, err := readEntry(line)
	return e.N - 1, err
}

// dropped gives the last entry that is gone, where the log says so with e.
func (e *entry) dropped() (through int64, ok bool) {
	if e.Event != prunedEvent || e.Session != "" {
		return 0, false
	}
	var said pruned
	_ = json.Unmarshal(e.Body, &said)
	return said.Through, true
}

// withoutDropped leaves out the segments at the beginning that the log says were
// dropped: a process that was killed while it dropped them has left them, with
// their contents or without. The next prune removes them.
func (l *ledger) withoutDropped(segments []int64, at *head) ([]int64, error) {
	through, err := l.droppedThrough(segments)
	for err == nil && through > 0 && len(segments) > 1 {
		var last int64
		if last, err = l.lastBefore(segments, 1, at); err != nil || last > through {
			break
		}
		segments = segments[1:]
	}
	return segments, err
}

// droppedThrough is the last entry that the log says was dropped, 0 for none.
func (l *ledger) droppedThrough(segments []int64) (through int64, err error) {
	for i := len(segments) - 1; i >= 0 && err == nil && through == 0; i-- {
		err = eachLine(l.segmentPath(segments[i]), func(line []byte) {
			if bytes.Contains(line, []byte(prunedEvent)) {
				if e, _, err := readEntry(line); err == nil {
					said, _ := e.dropped()
					through = max(through, said)
				}
			}
		})
	}
	return through, err
}

// eachLine reads the whole lines of a segment.
func eachLine(path string, do func(line []byte)) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 256<<10)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		do(line)
	}
}

func (l *ledger) olderThan(segment int64, age time.Duration) bool {
	info, err := os.Stat(l.segmentPath(segment))
	return err == nil && l.now().Sub(info.ModTime()) > age
}

// segmentSize is what a segment takes with its blobs.
func (l *ledger) segmentSize(n int64) int64 {
	size := fileSize(l.segmentPath(n))
	entries, _ := os.ReadDir(l.blobDir(n))
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
	}
	return size
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Prune drops what is beyond the limits: old entries of the record, and old
// runs of copies, whose sessions it names. Runs that this recorder has open
// stay.
func (r *Recorder) Prune(limits Limits) (removed []string, err error) {
	limits = limits.withDefaults()
	removed, err = r.pruneRuns(limits)
	if r.log == nil {
		return removed, err
	}
	return removed, errors.Join(err, failure("prune", r.log.dir, r.log.pruneNow(limits)))
}

// pruneNow prunes what is there, and what else is of the past.
func (l *ledger) pruneNow(limits Limits) error {
	if _, err := os.Stat(l.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return err
	}
	unlock, err := lockHandle(l.lock)
	if err != nil {
		return err
	}
	defer unlock()
	at, err := l.end()
	if err != nil || at.segment == 0 {
		return err
	}
	if at.end > 0 && l.olderThan(at.segment, limits.Age) {
		at.next(l.now())
		if err := at.write(l.head); err != nil {
			return err
		}
	}
	l.dropSteps(limits.Age)
	return l.prune(&at, "asked", limits)
}

// dropSteps forgets how many calls sessions made that have long ended. Their
// entries are gone by then.
func (l *ledger) dropSteps(age time.Duration) {
	entries, _ := os.ReadDir(l.path("steps"))
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && l.now().Sub(info.ModTime()) > age {
			_ = os.Remove(filepath.Join(l.path("steps"), entry.Name()))
		}
	}
}

// LogSize is what the record takes, without the copies.
func (r *Recorder) LogSize() int64 {
	if r.log == nil {
		return 0
	}
	size := fileSize(r.log.path(indexFile))
	segments, _ := r.log.segments()
	for _, n := range segments {
		size += r.log.segmentSize(n)
	}
	return size
}

// errNoRecord says that there is no place for a record.
func errNoRecord() *tool.Error {
	return tool.Errorf(tool.Unavailable, "no record is kept: there is no place for the state of the workspace").
		Suggest("`toolhost doctor` says why. Set XDG_STATE_HOME to a directory outside the workspace.")
}
