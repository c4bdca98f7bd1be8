package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
)

// status is a line at the bottom of the terminal that tells how far a call is:
// the time it has taken, its count and its last word. The line is gone when the
// call ends, since what the call prints is printed then.
type status struct {
	screen  *screen
	width   int
	started time.Time

	mu   sync.Mutex
	last tool.Progress
}

// statusPause is how often the time in the status is brought up to date, and
// how long a call takes before there is a status at all.
const statusPause = time.Second

// watch shows the status of a call until end is called. Without a terminal that
// can take a line back there is none, and report is nil.
func (a *app) watch(ctx context.Context) (report func(tool.Progress), end func()) {
	s, ok := a.err.(*screen)
	if !ok || os.Getenv("TERM") == "dumb" {
		return nil, func() {}
	}
	st := &status{screen: s, width: terminalWidth(a.err), started: time.Now()}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { st.run(ctx) })
	return st.report, func() {
		cancel()
		running.Wait()
		s.setStatus("")
	}
}

func (st *status) run(ctx context.Context) {
	ticker := time.NewTicker(statusPause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			st.show()
		}
	}
}

// report takes over what a tool says of its progress. A word without a count
// leaves the count that was told last.
func (st *status) report(p tool.Progress) {
	st.mu.Lock()
	if p.Total <= 0 {
		p.Done, p.Total = st.last.Done, st.last.Total
	}
	if p.Message == "" {
		p.Message = st.last.Message
	}
	st.last = p
	st.mu.Unlock()
	st.show()
}

func (st *status) show() {
	st.mu.Lock()
	defer st.mu.Unlock()
	text := time.Since(st.started).Truncate(time.Second).String()
	if st.last.Total > 0 {
		text += fmt.Sprintf(" [%g/%g]", st.last.Done, st.last.Total)
	}
	if st.last.Message != "" {
		text += " " + show.Line(st.last.Message)
	}
	if runes := []rune(text); st.width > 1 && len(runes) >= st.width {
		text = string(runes[:st.width-2]) + "…"
	}
	st.screen.setStatus(text)
}

// clearLine takes the line off the terminal that the cursor is in.
const clearLine = "\r\x1b[K"

// setStatus writes the status in the place of the one before; "" takes it away.
func (s *screen) setStatus(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" && !s.status {
		return
	}
	_, _ = io.WriteString(s.file, clearLine+text)
	s.status = text != ""
}

// Write writes in the place of the status, which comes back with its next
// change.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status {
		_, _ = io.WriteString(s.file, clearLine)
		s.status = false
	}
	return s.Writer.Write(p)
}
