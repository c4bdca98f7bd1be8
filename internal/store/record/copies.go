package record

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/file/plainfile"
)

const (
	eventsFile = "events.jsonl"
	olderFile  = "events.1.jsonl"
	stepsFile  = "steps"
	lockFile   = "rotate.lock"
)

type run struct {
	dir  string
	root *os.Root
	max  int64
	now  func() time.Time

	mu     sync.Mutex
	events *os.File
	steps  *os.File
	torn   bool
}

func (r *run) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := []error{r.root.Close()}
	for _, file := range []*os.File{r.events, r.steps} {
		if file != nil {
			errs = append(errs, file.Close())
		}
	}
	r.events, r.steps = nil, nil
	return errors.Join(errs...)
}

func (r *run) step() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.steps == nil {
		file, err := plainfile.OpenIn(r.root, stepsFile, stepsFlags, 0o644)
		if err != nil {
			return 0, err
		}
		r.steps = file
	}
	n, err := appendByte(r.steps)
	return int(n), err
}

// append writes one line in one write, so that lines of several processes do not mix; after a partial write the
// next begins with a newline.
func (r *run) append(line []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.openEvents(); err != nil {
		return err
	}
	if r.torn {
		line = append([]byte("\n"), line...)
	}
	n, err := r.events.Write(line)
	if err != nil {
		r.torn = r.torn || n > 0
		return err
	}
	r.torn = false
	return r.rotate()
}

func (r *run) openEvents() (err error) {
	if r.events == nil {
		r.events, err = plainfile.OpenIn(r.root, eventsFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	}
	return err
}

// rotate puts a full event file aside, or opens the new one if another process has done so.
func (r *run) rotate() error {
	info, err := r.events.Stat()
	if err != nil || info.Size() < r.max {
		return err
	}
	unlock, err := lock(r.root, lockFile)
	if err != nil {
		return err
	}
	defer unlock()
	current, err := r.root.Stat(eventsFile)
	mine := err == nil && os.SameFile(info, current)
	r.events.Close()
	r.events = nil
	if !mine {
		return nil
	}
	return r.putAside(info.Size())
}

// putAside renames the event file and begins a new one with a line about what was dropped.
func (r *run) putAside(size int64) error {
	var dropped int64
	if info, err := r.root.Stat(olderFile); err == nil {
		dropped = info.Size()
	}
	if err := r.root.Rename(eventsFile, olderFile); err != nil {
		return err
	}
	if err := r.openEvents(); err != nil {
		return err
	}
	body, err := marshal(rotated{olderFile, size, dropped})
	if err != nil {
		return err
	}
	e := entry{Event: "events_rotated", At: r.now().UTC().Format(timeFormat), Body: body}
	_, err = r.events.Write(append(e.line(nil, false), '\n'))
	return err
}

type rotated struct {
	Kept    string `json:"kept"`
	Bytes   int64  `json:"kept_bytes"`
	Dropped int64  `json:"dropped_bytes"`
}
