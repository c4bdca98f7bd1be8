package console

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/store/approval"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/state"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// space is a workspace with a toolhost state.
type space struct {
	id, dir, root string
	store         *state.Store
	approvals     *approval.Store
	recorder      *record.Recorder

	mu      sync.Mutex
	seen    stamp // of their directory, when waiting was read
	waiting []waitingCall
}

// stamp changes when a file does.
type stamp struct {
	size int64
	time time.Time
}

// clockStep exceeds the clock step of file systems: writes of the same size within one step have the
// same stamp.
const clockStep = 50 * time.Millisecond

// before reports whether the last change is older than d.
func (s stamp) before(d time.Duration) bool { return time.Since(s.time) > d }

// spaces are all workspaces of this user.
type spaces struct {
	mu     sync.Mutex
	known  map[string]*space
	looked time.Time
	home   stamp     // of the directory that has them
	new    time.Time // when home last changed
}

// Workspaces are searched every lookEvery, and for newTime after each new one: it is known only once it
// has a record.
const (
	lookEvery = time.Second
	newTime   = 5 * time.Second
)

func (s *spaces) due(now time.Time) bool {
	if watched, err := userdir.Watched(); err == nil {
		if home := stampOf(filepath.Dir(watched)); home != s.home {
			s.home, s.new = home, now
		}
	}
	return now.Sub(s.looked) >= lookEvery || now.Sub(s.new) < newTime
}

// all returns the workspaces, by path.
func (s *spaces) all() []*space {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.due(now) {
		s.looked = now
		s.openNewSpaces()
	}
	var all []*space
	for _, found := range s.known {
		all = append(all, found)
	}
	slices.SortFunc(all, func(a, b *space) int {
		return cmp.Compare(a.root, b.root)
	})
	return all
}

// openNewSpaces opens new workspaces.
func (s *spaces) openNewSpaces() {
	dirs, _ := userdir.States()
	for _, dir := range dirs {
		id := filepath.Base(dir)
		if s.known[id] != nil {
			continue
		}
		if found := openSpace(id, dir); found != nil {
			s.known[id] = found
		}
	}
}

func (s *spaces) find(id string) (*space, error) {
	for _, found := range s.all() {
		if found.id == id {
			return found, nil
		}
	}
	return nil, tool.Errorf(tool.NotFound, "there is no workspace %q", id).Suggest("Reload the page.")
}

func (s *spaces) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, found := range s.known {
		found.close()
	}
}

func (s *space) close() {
	s.store.Close()
	s.recorder.Close()
}

func (s *space) title() string { return show.Page.Line(s.root) }

// openSpace opens the workspace with the state in dir, nil if unknown.
func openSpace(id, dir string) *space {
	root := record.WorkspaceOf(dir)
	if root == "" {
		return nil
	}
	if state, err := userdir.State(root); err != nil || state != dir {
		return nil
	}
	found := &space{id: id, dir: dir, root: root}
	approvals, err := approval.Dir()
	if err != nil {
		return nil
	}
	if found.store, err = state.Open(dir); err != nil {
		return nil
	}
	found.approvals, err = approval.Open(found.store.Directory(approval.StateDir), approvals, root)
	if err != nil {
		return nil
	}
	found.recorder, err = record.New(record.Options{Root: root, State: dir, Workspace: root})
	if err != nil {
		return nil
	}
	return found
}

// pending returns the waiting calls, read once for all pages when the files changed or a call expired.
func (s *space) pending(ctx context.Context) ([]waitingCall, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := stampOf(filepath.Join(s.dir, approval.StateDir))
	late := slices.ContainsFunc(s.waiting, func(c waitingCall) bool { return !time.Now().Before(c.Expires) })
	if now == (stamp{}) {
		return nil, nil
	}
	if now == s.seen && !late {
		return s.waiting, nil
	}
	settled := now.before(clockStep)
	waiting, err := s.approvals.List(ctx)
	if err != nil {
		return nil, err
	}
	s.waiting, s.seen = nil, now
	if !settled {
		s.seen = stamp{}
	}
	for _, p := range waiting {
		s.waiting = append(s.waiting, lineOf(s, p))
	}
	return s.waiting, nil
}

func (s *space) changes(ctx context.Context) ([]undo.CallInfo, error) {
	store, err := undo.Open(filepath.Join(s.dir, undo.DirName), undo.Options{})
	if err != nil {
		return nil, err
	}
	return store.Calls(ctx, undo.Filter{Limit: mostCalls})
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}

func shownText(text string) string { return show.Text(text) }
