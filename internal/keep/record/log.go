package record

import (
	"bufio"
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

	"github.com/toolhost/toolhost/internal/files/filelock"
	"github.com/toolhost/toolhost/internal/files/plainfile"
)

// A segment ends when it has grown so large, or so old: what is dropped is
// dropped by segments.
const (
	mostInSegment = 8 << 20
	segmentAge    = 24 * time.Hour
)

// ledger is the log of one workspace. It touches nothing before the first use.
type ledger struct {
	dir       string
	workspace string
	limits    Limits
	now       func() time.Time

	mu      sync.Mutex
	lock    *os.File
	head    *os.File
	segment *os.File
	number  int64 // of segment
	toPrune bool  // a segment began

	indexer indexer
}

func (l *ledger) path(names ...string) string {
	return filepath.Join(append([]string{l.dir}, names...)...)
}

func segmentName(n int64) string { return fmt.Sprintf("%08d.jsonl", n) }

func (l *ledger) segmentPath(n int64) string { return l.path("log", segmentName(n)) }

func (l *ledger) blobDir(n int64) string { return l.path("blobs", fmt.Sprintf("%08d", n)) }

// append writes an entry and gives its number. Its content, where it is large,
// is written first.
func (l *ledger) append(e *entry, large *packed) (n int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.open(); err != nil {
		return 0, err
	}
	unlock, err := lockHandle(l.lock)
	if err != nil {
		return 0, err
	}
	defer unlock()
	at, err := l.end()
	if err != nil {
		return 0, err
	}
	if err := l.write(&at, e, large); err != nil {
		return 0, err
	}
	if l.toPrune {
		l.toPrune = false
		err = l.prune(&at, "bounds", l.limits)
	}
	if err == nil {
		l.indexer.written(l)
	}
	return e.N, err
}

// write adds one entry behind the end, which moves on.
func (l *ledger) write(at *head, e *entry, large *packed) error {
	if at.segment == 0 || at.end+at.blobs >= l.limits.segment() ||
		at.end > 0 && l.now().Sub(time.Unix(at.began, 0)) > segmentAge {
		at.next(l.now())
		if err := at.write(l.head); err != nil {
			return err
		}
		l.toPrune = true
	}
	if err := l.openSegment(at.segment); err != nil {
		return err
	}
	e.N = at.n + 1
	e.Prev, e.Workspace = "", ""
	if at.end == 0 {
		e.Prev, e.Workspace = at.hash, l.workspace
	}
	if large != nil {
		stored, err := l.store(at.segment, large)
		if err != nil {
			return err
		}
		e.Blob = &large.blob
		at.blobs += stored
	}
	line, hash := e.seal(at.hash)
	if _, err := l.segment.WriteAt(line, at.end); err != nil {
		return errors.Join(err, l.segment.Truncate(at.end))
	}
	at.n, at.hash, at.end = e.N, hash, at.end+int64(len(line))
	return at.write(l.head)
}

// open opens what every write needs, making it at the first use.
func (l *ledger) open() error {
	if l.head != nil {
		return nil
	}
	for _, name := range []string{"log", "blobs", "steps", "writers"} {
		if err := os.MkdirAll(l.path(name), 0o700); err != nil {
			return err
		}
	}
	lock, err := os.OpenFile(l.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	head, err := openHead(l.path("head"))
	if err != nil {
		lock.Close()
		return err
	}
	l.lock, l.head = lock, head
	return nil
}

func (l *ledger) openSegment(n int64) error {
	if l.segment != nil && l.number == n {
		return nil
	}
	file, err := os.OpenFile(l.segmentPath(n), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if l.segment != nil {
		l.segment.Close()
	}
	l.segment, l.number = file, n
	return nil
}

func (l *ledger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.indexer.stop()
	var errs []error
	for _, file := range []**os.File{&l.lock, &l.head, &l.segment} {
		if *file != nil {
			errs = append(errs, (*file).Close())
		}
		*file = nil
	}
	return errors.Join(errs...)
}

// end finds the end of the log: where the head says, or behind it, where a
// process was killed before it could say so. What was not written to its end is
// cut off.
func (l *ledger) end() (head, error) {
	at, ok, err := readHead(l.head)
	if err != nil {
		return at, err
	}
	if !ok {
		segments, err := l.segments()
		if err != nil || len(segments) == 0 {
			return head{hash: zeroHash}, err
		}
		at = head{segment: segments[len(segments)-1], began: l.now().Unix(), hash: zeroHash}
	}
	if err := l.openSegment(at.segment); err != nil {
		return at, err
	}
	info, err := l.segment.Stat()
	if err != nil || info.Size() == at.end {
		return at, err
	}
	if info.Size() < at.end { // somebody has cut it; what comes now does not hide that
		at.end = info.Size()
		return at, nil
	}
	return at, l.recover(&at)
}

// zeroHash is the hash before the first entry.
var zeroHash = strings.Repeat("0", hashSize)

// recover reads what lies behind the head.
func (l *ledger) recover(at *head) error {
	in := bufio.NewReader(io.NewSectionReader(l.segment, at.end, 1<<62))
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return l.segment.Truncate(at.end)
		}
		if err != nil {
			return err
		}
		at.end += int64(len(line))
		if e, hash, err := readEntry(line); err == nil {
			at.n, at.hash = e.N, hash
		}
	}
}

// segments are the numbers of the segments that are there.
func (l *ledger) segments() ([]int64, error) {
	entries, err := os.ReadDir(l.path("log"))
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

// lockHandle waits for the lock of an open file.
func lockHandle(file *os.File) (unlock func(), err error) {
	return func() { filelock.Unlock(file) }, filelock.Wait(file, true)
}
