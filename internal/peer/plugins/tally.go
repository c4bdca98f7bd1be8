package plugins

import (
	"os"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// flushDelay is how long what is no failure may wait to be written, together
// with what follows it.
const flushDelay = time.Second

// tally is what happened to a plugin since the history was last written.
// Failures are written at once, all else after flushDelay or when it is closed.
type tally struct {
	file *historyFile

	mu      sync.Mutex
	since   *History    // nil for nothing
	live    LiveProcess // of this host; PID 0 for none
	changed bool        // live is not what the file says
	timer   *time.Timer // nil while nothing is to be written
	closed  bool
	writing sync.Mutex
}

// note adds to the tally and has the file written in the background.
func (t *tally) note(delay time.Duration, change func(*History)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.since == nil {
		t.since = new(History)
	}
	change(t.since)
	switch {
	case t.file.dir == "" || t.closed:
	case t.timer == nil:
		t.timer = time.AfterFunc(delay, t.flush)
	case delay == 0:
		t.timer.Reset(0)
	}
}

// started notes that a process of this host runs, ended that it no longer
// does.
func (t *tally) started(pid int, at time.Time, took time.Duration) {
	t.note(flushDelay, func(h *History) {
		h.Starts++
		h.FailuresInRow = 0
		h.StartTook = took
		t.live, t.changed = LiveProcess{PID: pid, Host: os.Getpid(), Since: at}, true
	})
}

func (t *tally) ended(pid int, peak int64, crash *tool.Error) {
	delay := flushDelay
	if crash != nil {
		delay = 0
	}
	t.note(delay, func(h *History) {
		h.PeakMemory = max(h.PeakMemory, peak)
		if t.live.PID == pid {
			t.live, t.changed = LiveProcess{}, true
		}
		if crash != nil {
			h.Crashes++
			h.LastError, h.LastErrorAt = crash, time.Now()
		}
	})
}

func (t *tally) failedStart(err *tool.Error, took time.Duration, program identity, config string) {
	t.note(0, func(h *History) {
		h.FailedStarts++
		h.FailuresInRow++
		h.FailureTook, h.Failed, h.FailedConfig = took, program, config
		h.LastError, h.LastErrorAt = err, time.Now()
	})
}

// called notes a call; reached says that the plugin answered it.
func (t *tally) called(took time.Duration, failed, reached bool) {
	now := time.Now()
	t.note(flushDelay, func(h *History) {
		h.countCall(now, took, failed)
		if reached {
			h.LastSuccess = now
		}
	})
}

// flush writes what there is to write. What cannot be written is kept for the
// next time.
func (t *tally) flush() {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	since, live, changed := t.since, t.live, t.changed
	t.since, t.changed, t.timer = nil, false, nil
	t.mu.Unlock()
	if since == nil ||
		!changed && since.Calls == 0 && since.FailedStarts == 0 && since.Crashes == 0 && since.PeakMemory == 0 {
		return
	}
	err := t.file.update(func(h *History) {
		h.add(since)
		if changed {
			h.Live = slices.DeleteFunc(h.Live, func(l LiveProcess) bool { return l.Host == os.Getpid() })
			if live.PID != 0 {
				h.Live = append(h.Live, live)
			}
		}
	})
	if err != nil {
		t.mu.Lock()
		if t.since != nil {
			since.add(t.since)
		}
		t.since, t.changed = since, t.changed || changed
		t.mu.Unlock()
	}
}

// close writes what is left.
func (t *tally) close() {
	t.mu.Lock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.mu.Unlock()
	t.flush()
}

// history gives what is kept with what is still to be written.
func (t *tally) history() *History {
	t.writing.Lock()
	defer t.writing.Unlock()
	h := t.file.read()
	t.mu.Lock()
	if t.since != nil {
		h.add(t.since)
	}
	if t.changed || t.file.dir == "" {
		h.Live = slices.DeleteFunc(h.Live, func(l LiveProcess) bool { return l.Host == os.Getpid() })
		if t.live.PID != 0 {
			h.Live = append(h.Live, t.live)
		}
	}
	t.mu.Unlock()
	for i := range h.Live {
		h.Live[i].Memory = residentMemory(h.Live[i].PID)
		h.PeakMemory = max(h.PeakMemory, h.Live[i].Memory)
	}
	return h
}
