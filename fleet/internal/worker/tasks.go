package worker

import (
	"context"
	"time"
)

const moved = "its session moved to another worker"

func (s *session) hasTasks() bool {
	<-s.ready
	return s.failed == nil && (s.offer.Server.Tasks() > 0 || s.offer.Project.RunningTasks() > 0)
}

// rest waits for a session's calls, and a while for its tasks, and ends the rest. Until then
// clients may ask for them. It stops with ctx.
func (s *session) rest(ctx context.Context) bool {
	deadline := time.Now().Add(s.worker.options.Drain)
	s.wait(true)
	settled := s.until(ctx, func() bool {
		return !s.busy() && (time.Now().After(deadline) || !s.hasTasks())
	})
	if settled && s.failed == nil {
		s.offer.Server.EndTasks(ctx, moved)
		if err := s.offer.Project.EndTasks(ctx, moved); err != nil {
			s.worker.logger.Warn("background tasks were not ended", "session", s.key, "error", err)
		}
	}
	s.wait(false)
	return settled && s.until(ctx, func() bool { return !s.busy() })
}

func (s *session) until(ctx context.Context, is func() bool) bool {
	for !is() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return true
}

func (s *session) wait(is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = is
}

// releaseIdle gives up an unused session, unless its tasks run.
func (w *Worker) releaseIdle(s *session) {
	if s.hasTasks() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.idleSince = time.Now()
		return
	}
	w.release(w.life, s)
}
