package worker

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/fleet/pack"
)

// tasks keep in the hub's store how the tasks of a session stand, for the next worker
// that has it. It is an mcpserve.TaskStore.
type tasks struct{ session *session }

// Put implements mcpserve.TaskStore.
func (t tasks) Put(ctx context.Context, id string, state []byte) {
	s := t.session
	ctx, cancel := context.WithTimeout(ctx, keepWithin)
	defer cancel()
	defer context.AfterFunc(s.worker.life, cancel)()
	about := s.about()
	about.File = "task/" + id
	if _, _, err := s.worker.upload(ctx, about, bytes.NewReader(state)); err != nil {
		s.worker.logger.Warn("a task was not kept", "session", s.key, "error", err)
	}
	s.dirty()
}

// Get implements mcpserve.TaskStore.
func (t tasks) Get(ctx context.Context, id string) ([]byte, error) {
	var state bytes.Buffer
	switch err := t.session.fetch(ctx, "task/"+id, &state); {
	case tool.CodeOf(err) == tool.NotFound:
		return nil, nil
	case err != nil:
		return nil, tool.Errorf(tool.Unavailable, "the task cannot be had from the hub's store: %w", err).
			Suggest("Ask again in a moment.")
	}
	return state.Bytes(), nil
}

// moved is why a task is ended that does not end by itself.
const moved = "its session moved to another worker"

// hasTasks reports whether tasks of the session run.
func (s *session) hasTasks() bool {
	<-s.ready
	return s.failed == nil && (s.offer.Server.Tasks() > 0 || s.offer.Project.RunningTasks() > 0)
}

// rest waits for the calls of a session that is let go, and a while for its tasks, and
// ends those that run on. Until then clients may ask for them. It gives up with ctx.
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

// releaseIdle lets go of a session that nobody uses, unless tasks of it run.
func (w *Worker) releaseIdle(s *session) {
	if s.hasTasks() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.idleSince = time.Now()
		return
	}
	w.release(w.life, s)
}

// tasksFile names what is kept of the background tasks of a session.
const tasksFile = "tasks"

// saveEvery is how often that is done while some run, and tasksPackEvery how often their
// workspace is packed meanwhile.
const (
	saveEvery      = 5 * time.Second
	tasksPackEvery = time.Minute
)

// saveTasks keeps the background tasks of the session with what they have printed.
func (s *session) saveTasks(ctx context.Context) {
	dir := s.offer.Project.Tasks().Dir()
	if entries, err := os.ReadDir(dir); dir == "" || err != nil || len(entries) == 0 {
		return
	}
	if s.offer.Project.RunningTasks() > 0 {
		time.AfterFunc(max(saveEvery, s.worker.options.PackAfter), func() {
			if s.life.Err() == nil {
				s.pack(s.life)
			}
		})
	}
	file, digest, err := packed(dir, s.worker.options.Dir)
	if err == nil && digest != s.saved {
		err = s.uploadTasks(ctx, file, digest)
	}
	_ = os.Remove(file)
	if err != nil {
		s.worker.logger.Warn("background tasks were not kept", "session", s.key, "error", err)
	}
}

func (s *session) uploadTasks(ctx context.Context, file, digest string) error {
	in, err := os.Open(filepath.Clean(file))
	if err != nil {
		return err
	}
	defer in.Close()
	about := s.about()
	about.File = tasksFile
	if _, _, err := s.worker.upload(ctx, about, in); err != nil {
		return err
	}
	s.saved = digest
	return nil
}

// restoreTasks gives the session the background tasks that it had on another worker.
// None of them runs: those that did there are lost.
func (s *session) restoreTasks(ctx context.Context) {
	dir := s.offer.Project.Tasks().Dir()
	if s.workspace.shared || s.record.Epoch < 2 || dir == "" {
		return
	}
	err := s.unpackTasks(ctx, dir)
	if err != nil && tool.CodeOf(err) != tool.NotFound {
		s.worker.logger.Warn("background tasks of before are not there", "session", s.key, "error", err)
		_ = os.RemoveAll(dir)
	}
}

func (s *session) unpackTasks(ctx context.Context, dir string) error {
	file, err := os.CreateTemp(s.worker.options.Dir, "unpack-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := s.fetch(ctx, tasksFile, file); err != nil {
		return err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return pack.Unpack(dir, file, pack.DefaultLimits)
}
