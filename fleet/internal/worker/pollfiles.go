package worker

import (
	"time"

	"github.com/toolhost/toolhost/internal/project"
)

// A session's files are polled every WatchInterval while it is used and for a while after. Sessions
// that only listen take turns, and an unused one is checked when a request comes.
const (
	livelyFor   = 10 * project.WatchInterval
	lookedTurns = 50
)

func (w *Worker) pollFiles() {
	ticker := time.NewTicker(project.WatchInterval)
	defer ticker.Stop()
	pace := project.WatchInterval
	for {
		select {
		case <-w.life.Done():
			return
		case <-ticker.C:
		}
		now, listening, turns := time.Now(), 0, 0
		w.mu.Lock()
		for _, s := range w.sessions {
			lively, listens := s.liveliness(now)
			if listens {
				listening++
			}
			inTurn := listens && turns < lookedTurns && now.Sub(s.lookedAt()) > pace
			if inTurn && !lively {
				turns++
			}
			if lively || inTurn {
				go s.applyChangedFiles()
			}
		}
		w.mu.Unlock()
		pace = project.WatchInterval * time.Duration(listening/lookedTurns)
	}
}

// liveliness reports whether the session is, or was just, used, and whether a client listens to it.
func (s *session) liveliness(now time.Time) (lively, listens bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.working > 0 || now.Sub(s.idleSince) < livelyFor, s.using > 0
}

func (s *session) lookedAt() time.Time { return s.worker.began.Add(time.Duration(s.looked.Load())) }

// applyChangedFiles applies changed files, unless that is in progress.
func (s *session) applyChangedFiles() {
	select {
	case <-s.ready:
	default:
		return
	}
	if s.failed != nil || s.life.Err() != nil || !s.looking.TryLock() {
		return
	}
	defer s.looking.Unlock()
	s.offer.Look()
	s.looked.Store(int64(time.Since(s.worker.began)))
}

// wake checks a session's files after a while without. One with running calls is checked anyway.
func (s *session) wake() {
	s.mu.Lock()
	alone := s.working == 1
	s.mu.Unlock()
	if alone && time.Since(s.lookedAt()) > 2*project.WatchInterval {
		s.applyChangedFiles()
	}
}
