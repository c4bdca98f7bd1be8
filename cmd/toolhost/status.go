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

// status is a line at the bottom of the terminal with the call's time, count and last message, until
// the call ends.
type status struct {
	screen  *screen
	width   int
	started time.Time

	mu   sync.Mutex
	last tool.Progress
}

// statusPause is the refresh interval of the status, and the delay before it first shows.
const statusPause = time.Second

// watch shows a call's status until end is called. report is nil unless the terminal can erase a line.
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

// report takes a tool's progress. A message without a count keeps the last count.
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

// clearLine erases the cursor's line.
const clearLine = "\r\x1b[K"

// setStatus replaces the status; "" removes it.
func (s *screen) setStatus(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" && !s.status {
		return
	}
	_, _ = io.WriteString(s.file, clearLine+text)
	s.status = text != ""
}

// Write replaces the status, which returns with its next change.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status {
		_, _ = io.WriteString(s.file, clearLine)
		s.status = false
	}
	return s.Writer.Write(p)
}
