package record

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Limits bound what is kept.
type Limits struct {
	// Age is how long a file is kept after its last change; by default 30 days.
	Age time.Duration
	// Bytes bounds the total size; the oldest is dropped first. By default 1 GiB.
	Bytes int64
	// Quiet protects copies changed so recently, since another process may be writing to them; by default a
	// minute.
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
		l.Quiet = time.Minute
	}
	return l
}

// segment bounds a segment, so that dropping one suffices.
func (l Limits) segment() int64 { return min(max(l.Bytes/64, 64<<10), mostInSegment) }

// prunedEvent is the entry about what was dropped from the log.
const prunedEvent = "record_pruned"

type pruned struct {
	Through int64  `json:"through"` // the last dropped entry
	Why     string `json:"why"`
}

// prune drops the oldest segments beyond the limits, never the current one. The log records that first. The
// lock must be held.
func (l *eventLog) prune(why string, limits Limits) error {
	segments, err := l.segments()
	if err != nil {
		return err
	}
	sizes := make([]int64, len(segments))
	total := int64(0)
	for i, n := range segments {
		sizes[i] = l.segmentSize(n)
		total += sizes[i]
	}
	drop := 0
	for drop < len(segments) && segments[drop] < l.at.segment &&
		(total > limits.Bytes-2*limits.segment() || l.olderThan(segments[drop], limits.Age)) {
		total -= sizes[drop]
		drop++
	}
	if drop == 0 {
		return l.dropRest(segments)
	}
	through, err := l.lastOf(segments[drop-1])
	if err != nil {
		return err
	}
	body, err := marshal(pruned{through, why})
	if err != nil {
		return err
	}
	e := &entry{At: l.now().UTC().Format(timeFormat), Event: prunedEvent, Body: body}
	if err := l.write(e, nil); err != nil {
		return err
	}
	l.sealing.Wait() // or a summary is written after its segment is gone
	for _, n := range segments[:drop] {
		err = errors.Join(err, os.Remove(l.segmentPath(n)))
	}
	return errors.Join(err, l.dropRest(segments[drop:]))
}

// dropRest removes summaries and objects of dropped segments, also those left by a killed process.
func (l *eventLog) dropRest(segments []int64) (err error) {
	for _, pattern := range []string{"*.summary.json", "*.objects"} {
		paths, _ := filepath.Glob(l.path(pattern))
		for _, path := range paths {
			number, _, _ := strings.Cut(filepath.Base(path), ".")
			n, numberErr := strconv.ParseInt(number, 10, 64)
			if numberErr == nil && n != l.at.segment && !slices.Contains(segments, n) {
				err = errors.Join(err, os.RemoveAll(path))
			}
		}
	}
	return err
}

// lastOf returns the number of the last entry of a segment.
func (l *eventLog) lastOf(n int64) (int64, error) {
	file, err := os.Open(l.segmentPath(n))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	last, _, err := lastEntry(file)
	return last.N, err
}

func (l *eventLog) olderThan(segment int64, age time.Duration) bool {
	info, err := os.Stat(l.segmentPath(segment))
	return err == nil && l.now().Sub(info.ModTime()) > age
}

func (l *eventLog) segmentSize(n int64) int64 {
	size := fileSize(l.segmentPath(n)) + fileSize(l.summaryPath(n))
	entries, _ := os.ReadDir(l.objectDir(n))
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

// Prune drops what exceeds the limits: old entries of the record, and old copies.
func (r *Recorder) Prune(limits Limits) (copies Copies, err error) {
	limits = limits.withDefaults()
	copies, err = r.pruneCopies(limits)
	if r.log == nil {
		return copies, err
	}
	return copies, errors.Join(err, failure("prune", r.log.dir, r.log.withLock(func() error { return r.log.pruneNow(limits) })))
}

// withLock calls do with the lock of the log, if the log exists.
func (l *eventLog) withLock(do func() error) error {
	if _, err := os.Stat(l.dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := l.hold()
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}

// pruneNow prunes the log and its other old files. The lock must be held.
func (l *eventLog) pruneNow(limits Limits) error {
	if l.at.segment == 0 {
		return nil
	}
	beyond := l.size() > limits.Bytes-2*limits.segment()
	if l.at.size > 0 && (beyond || l.olderThan(l.at.segment, limits.Age)) {
		if err := l.next(); err != nil {
			return err
		}
	}
	entries, _ := os.ReadDir(l.path("steps")) // of sessions whose entries are gone
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && l.now().Sub(info.ModTime()) > limits.Age {
			_ = os.Remove(filepath.Join(l.path("steps"), entry.Name()))
		}
	}
	return l.prune("asked", limits)
}

// LogSize returns the size of the record without the copies.
func (r *Recorder) LogSize() int64 {
	if r.log == nil {
		return 0
	}
	return r.log.size()
}

func (l *eventLog) size() (size int64) {
	segments, _ := l.segments()
	for _, n := range segments {
		size += l.segmentSize(n)
	}
	return size
}

func errNoRecord() *tool.Error {
	return tool.Errorf(tool.Unavailable, "no record is kept: there is no place for the state of the workspace").
		Suggest("`toolhost doctor` says why. Set XDG_STATE_HOME to a directory outside the workspace.")
}
