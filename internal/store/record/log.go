package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/file/filelock"
	"github.com/toolhost/toolhost/internal/file/plainfile"
)

// A segment ends at this size or age: the log is pruned by segments.
const (
	mostInSegment = 8 << 20
	segmentAge    = 24 * time.Hour
)

// eventLog is the log of one workspace. It opens nothing before the first use.
type eventLog struct {
	dir       string
	workspace string
	limits    Limits
	now       func() time.Time

	mu      sync.Mutex
	lock    *os.File    // one byte for each segment begun
	locked  fs.FileInfo // identity of lock
	begun   int64       // size of lock when the end was found
	removed bool        // while in use
	segment *os.File
	written fs.FileInfo // identity of segment
	at      end
	toPrune bool // a segment began

	sealing sync.WaitGroup
}

type end struct {
	n       int64 // of the last entry
	segment int64
	size    int64 // of the segment's file
	stored  int64 // bytes of the segment's objects
	began   time.Time
}

func (l *eventLog) path(names ...string) string {
	return filepath.Join(append([]string{l.dir}, names...)...)
}

func segmentName(n int64) string { return fmt.Sprintf("%08d.jsonl", n) }

func (l *eventLog) segmentPath(n int64) string { return l.path(segmentName(n)) }

func (l *eventLog) summaryPath(n int64) string { return l.path(fmt.Sprintf("%08d.summary.json", n)) }

func (l *eventLog) objectDir(n int64) string { return l.path(fmt.Sprintf("%08d.objects", n)) }

// append writes an entry, after its content if that is large, and returns its number.
func (l *eventLog) append(e *entry, large *packed) (n int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	unlock, err := l.hold()
	if err != nil {
		return 0, err
	}
	defer unlock()
	if err := l.write(e, large); err != nil {
		return 0, err
	}
	if l.toPrune {
		l.toPrune = false
		err = l.prune("bounds", l.limits)
	}
	return e.N, err
}

// errRemoved is the error for a record that is no longer where this process writes it.
var errRemoved = errors.New("it was removed or replaced while it was in use; start toolhost again to begin a new record")

// hold opens and locks the log, and finds its end.
func (l *eventLog) hold() (unlock func(), err error) {
	if l.removed {
		return nil, errRemoved
	}
	if err := l.open(); err != nil {
		return nil, err
	}
	unlock, err = lockHandle(l.lock)
	if err != nil {
		return nil, err
	}
	begun, err := l.present()
	if err == nil && (begun != l.begun || !l.unchanged()) {
		err = l.findEnd()
	}
	if err != nil {
		l.begun = -1 // the end is not known
		unlock()
		return nil, err
	}
	l.begun = begun
	return unlock, nil
}

// unchanged reports whether the last segment ends where this process wrote last.
func (l *eventLog) unchanged() bool {
	if l.segment == nil {
		return false
	}
	there, err := os.Stat(l.segmentPath(l.at.segment))
	return err == nil && os.SameFile(l.written, there) && there.Size() == l.at.size
}

// present checks that the directory is the one that was opened, and returns how many segments were begun.
func (l *eventLog) present() (begun int64, err error) {
	there, err := os.Stat(l.path(lockName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(l.locked, there) {
		l.removed = true
		return 0, errRemoved
	}
	if err != nil {
		return 0, err
	}
	return there.Size(), nil
}

func (l *eventLog) write(e *entry, large *packed) error {
	at := &l.at
	if at.segment == 0 || at.size+at.stored >= l.limits.segment() ||
		at.size > 0 && l.now().Sub(at.began) > segmentAge {
		if err := l.next(); err != nil {
			return err
		}
	}
	e.N, e.Workspace = at.n+1, ""
	if at.size == 0 {
		e.Workspace = l.workspace
	}
	if large != nil {
		stored, err := l.store(at.segment, large)
		if err != nil {
			return err
		}
		e.Blob = &large.blob
		at.stored += stored
	}
	e.Stored = at.stored
	line := e.format()
	if _, err := l.segment.WriteAt(line, at.size); err != nil {
		return errors.Join(err, l.segment.Truncate(at.size))
	}
	at.n, at.size = e.N, at.size+int64(len(line))
	return nil
}

// next begins a segment, and summarizes the previous one in the background.
func (l *eventLog) next() error {
	before := l.at.segment
	if _, err := l.lock.WriteAt([]byte{'.'}, l.begun); err != nil { // before others could miss the segment
		return err
	}
	l.begun++
	if err := l.openSegment(before + 1); err != nil {
		return err
	}
	l.at = end{n: l.at.n, segment: before + 1, began: l.now()}
	l.toPrune = true
	if before > 0 {
		l.sealing.Go(func() { _, _ = l.summaryOf(before) })
	}
	return nil
}

const lockName = "lock"

// open opens the files that every write needs, making them at the first use.
func (l *eventLog) open() error {
	if l.lock != nil {
		return nil
	}
	for _, name := range []string{"steps", "writers"} {
		if err := os.MkdirAll(l.path(name), 0o700); err != nil {
			return err
		}
	}
	lock, err := os.OpenFile(l.path(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if l.locked, err = lock.Stat(); err != nil {
		return errors.Join(err, lock.Close())
	}
	l.lock = lock
	return nil
}

func (l *eventLog) openSegment(n int64) error {
	file, err := os.OpenFile(l.segmentPath(n), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	if l.segment != nil {
		l.segment.Close()
	}
	l.segment, l.written = file, info
	return nil
}

func (l *eventLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sealing.Wait()
	var errs []error
	for _, file := range []**os.File{&l.lock, &l.segment} {
		if *file != nil {
			errs = append(errs, (*file).Close())
		}
		*file = nil
	}
	l.at = end{}
	return errors.Join(errs...)
}

// findEnd finds the end of the log, to which other processes write too, and cuts off a partial line. The lock
// must be held.
func (l *eventLog) findEnd() error {
	segments, err := l.segments()
	if err != nil {
		return err
	}
	l.at = end{}
	if len(segments) == 0 {
		return nil
	}
	l.at.segment = segments[len(segments)-1]
	if err := l.openSegment(l.at.segment); err != nil {
		return err
	}
	if err := l.readEnd(); err != nil || l.at.n > 0 || len(segments) == 1 {
		return err
	}
	// Its process was killed before the first entry: numbers continue from the previous segment.
	before, err := os.Open(l.segmentPath(segments[len(segments)-2]))
	if err != nil {
		return err
	}
	defer before.Close()
	last, _, err := lastEntry(before)
	l.at.n = last.N
	return err
}

func (l *eventLog) readEnd() error {
	last, size, err := lastEntry(l.segment)
	if err != nil {
		return err
	}
	info, err := l.segment.Stat()
	if err != nil {
		return err
	}
	if info.Size() > size {
		if err := l.segment.Truncate(size); err != nil {
			return err
		}
	}
	l.at.n, l.at.stored, l.at.size, l.at.began = max(l.at.n, last.N), last.Stored, size, l.now()
	first := make([]byte, 8<<10)
	n, _ := l.segment.ReadAt(first, 0)
	if began, err := time.Parse(timeFormat, member(first[:n], `,"at":"`)); err == nil {
		l.at.began = began
	}
	return nil
}

// lastEntry reads the last entry of a segment, and the size of its complete lines.
func lastEntry(file *os.File) (last entry, size int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return last, 0, err
	}
	for chunk := int64(64 << 10); ; chunk *= 16 {
		from := max(info.Size()-chunk, 0)
		data := make([]byte, info.Size()-from)
		if _, err := file.ReadAt(data, from); err != nil && !errors.Is(err, io.EOF) {
			return last, 0, err
		}
		data = data[:bytes.LastIndexByte(data, '\n')+1]
		size = from + int64(len(data))
		for len(data) > 0 {
			begin := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
			if begin == 0 && from > 0 {
				break // the line may begin before
			}
			if e, err := readEntry(data[begin:]); err == nil {
				return e, size, nil
			}
			data = data[:begin]
		}
		if from == 0 {
			return last, size, nil
		}
	}
}

func (l *eventLog) segments() ([]int64, error) {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var numbers []int64
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".jsonl")
		if n, err := strconv.ParseInt(name, 10, 64); ok && err == nil && n > 0 && segmentName(n) == entry.Name() {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// lock waits for the lock named by a file of root.
func lock(root *os.Root, name string) (unlock func(), err error) {
	file, err := plainfile.OpenIn(root, name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	release, err := lockHandle(file)
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() {
		release()
		file.Close()
	}, nil
}

func lockHandle(file *os.File) (unlock func(), err error) {
	return func() { filelock.Unlock(file) }, filelock.Wait(file, true)
}
