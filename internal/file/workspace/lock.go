package workspace

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/filelock"
)

type lockTable struct {
	mu    sync.Mutex
	locks map[string]*dirLock
}

// dirLock is held by the goroutine that put the token into the channel.
type dirLock struct {
	token chan struct{}
	users int
}

func (t *lockTable) acquire(ctx context.Context, dir string) (release func(), err error) {
	t.mu.Lock()
	if t.locks == nil {
		t.locks = make(map[string]*dirLock)
	}
	l := t.locks[dir]
	if l == nil {
		l = &dirLock{token: make(chan struct{}, 1)}
		t.locks[dir] = l
	}
	l.users++
	t.mu.Unlock()
	select {
	case l.token <- struct{}{}:
		return func() { <-l.token; t.leave(dir, l) }, nil
	case <-ctx.Done():
		t.leave(dir, l)
		return nil, ctx.Err()
	}
}

func (t *lockTable) leave(dir string, l *dirLock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(t.locks, dir)
	}
}

// lockDir excludes all other writers of the directory abs with handle dir. shared is false if other processes
// cannot be excluded, as on some network file systems.
func (w *Workspace) lockDir(dir *os.Root, abs string) (release func(), shared bool, err error) {
	ctx, cancel := context.WithTimeout(w.ctx, w.lockWait)
	defer cancel()
	leave, err := w.locks.acquire(ctx, abs)
	if err != nil {
		return nil, false, w.lockError(abs, err)
	}
	unlock, err := flock(ctx, dir)
	if errors.Is(err, filelock.ErrNone) {
		return leave, false, nil
	}
	if err != nil {
		leave()
		return nil, false, w.lockError(abs, err)
	}
	return func() { unlock(); leave() }, true, nil
}

// flock takes the lock shared between processes.
func flock(ctx context.Context, dir *os.Root) (unlock func(), err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	if err := filelock.Await(ctx, f, true); err != nil {
		f.Close()
		if errors.Is(err, unix.EBADF) || errors.Is(err, unix.EINVAL) { // the file system cannot lock directories
			err = filelock.ErrNone
		}
		return nil, err
	}
	return func() { f.Close() }, nil
}

func (w *Workspace) lockError(abs string, err error) error {
	if w.ctx.Err() != nil {
		return w.fail("write in", abs, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return tool.Errorf(tool.Timeout, "another writer has kept %s locked for %v", abs, w.lockWait).
			Suggest("Try again; if it persists, see whether another toolhost hangs.")
	}
	return w.fail("lock", abs, err)
}

// held is a place whose directory is locked.
type held struct {
	*resolvedPath
	w       *Workspace
	release func()
}

func (h *held) close() {
	h.release()
	h.resolvedPath.close()
}

// hold resolves path, checks access and locks its directory. From then on other toolhosts do not change the place;
// later checks find other programs' changes.
func (w *Workspace) hold(path string, access Access) (*held, error) {
	for range maxRaces {
		p, err := w.locate(path, access.follows())
		if err != nil {
			return nil, err
		}
		if err := w.permit(p, access); err != nil {
			p.close()
			return nil, err
		}
		h, err := w.holdResolved(p, access)
		if err == nil {
			return h, nil
		}
		if !errors.Is(err, errRaced) {
			return nil, err
		}
	}
	return nil, changing(path)
}

// holdResolved locks p's directory and resolves again, since the wait takes time.
func (w *Workspace) holdResolved(p *resolvedPath, access Access) (*held, error) {
	defer p.close()
	release, shared, err := w.lockDir(p.dir, p.parent())
	if err != nil {
		return nil, err
	}
	now, err := w.locate(p.given, access.follows())
	if err != nil {
		release()
		return nil, err
	}
	if !now.sameName(p) || !sameRoot(now.dir, p.dir) {
		release()
		now.close()
		return nil, errRaced
	}
	w.sweepOnce(now, shared)
	return &held{resolvedPath: now, w: w, release: release}, nil
}

func (p *resolvedPath) sameName(q *resolvedPath) bool {
	return p.tree == q.tree && p.rel == q.rel && len(p.rest) == len(q.rest)
}

func sameRoot(a, b *os.Root) bool {
	if a == b {
		return true
	}
	x, err := a.Stat(".")
	if err != nil {
		return false
	}
	y, err := b.Stat(".")
	return err == nil && os.SameFile(x, y)
}

// grip is a set of places whose directories are all locked.
type grip struct {
	places  []*held
	dirs    *openDirs
	release func()
}

func (g *grip) close() {
	g.release()
	g.dirs.close()
}

// holdAll locks the directories of several paths, always in the same order so that callers cannot deadlock. If
// parents is not nil, missing parent directories of what is to be written are created and added to it.
func (w *Workspace) holdAll(paths []string, access []Access, parents *[]string) (*grip, error) {
	for try := range maxRaces {
		g, err := w.tryHoldAll(paths, access, parents, try == 0)
		if !errors.Is(err, errRaced) {
			return g, err
		}
	}
	return nil, changing(paths[0])
}

// tryHoldAll fails with errRaced if it has not locked the right directories. With guess it assumes that paths are
// not symlinks until one is.
func (w *Workspace) tryHoldAll(paths []string, access []Access, parents *[]string, guess bool) (*grip, error) {
	dirs := newOpenDirs()
	defer dirs.close()
	places := make([]*resolvedPath, len(paths))
	for i, path := range paths {
		p, err := w.find(path, finder{follow: access[i].follows(), guess: guess && access[i] == Write, shared: dirs})
		if err == nil {
			err = w.permit(p, access[i])
		}
		if err == nil && parents != nil && access[i] == Write && len(p.rest) > 0 {
			p, err = w.withParents(dirs, p, parents)
		}
		if err != nil {
			return nil, err
		}
		places[i] = p
	}
	release, err := w.lockDirs(places)
	if err != nil {
		return nil, err
	}
	g := &grip{dirs: newOpenDirs(), release: release}
	if err := w.lookAgain(g, places, access); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

// withParents creates the directories above p and resolves the place again.
func (w *Workspace) withParents(dirs *openDirs, p *resolvedPath, made *[]string) (*resolvedPath, error) {
	created, err := w.makeParents(p)
	*made = append(*made, created...)
	if err != nil {
		return nil, err
	}
	if p, err = w.locateIn(dirs, p.given, true); err != nil {
		return nil, err
	}
	return p, w.permit(p, Write) // a link may have come to lie on the way
}

// lockDirs locks the directory of each place, once.
func (w *Workspace) lockDirs(places []*resolvedPath) (release func(), err error) {
	dirs, seen := make(map[string]*resolvedPath), make(map[*os.Root]bool)
	for _, p := range places {
		if !seen[p.dir] {
			seen[p.dir], dirs[p.parent()] = true, p
		}
	}
	var releases []func()
	all := func() {
		for _, r := range slices.Backward(releases) {
			r()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		one, shared, err := w.lockDir(dirs[name].dir, name)
		if err != nil {
			all()
			return nil, err
		}
		releases = append(releases, one)
		w.sweepOnce(dirs[name], shared)
	}
	return all, nil
}

func (w *Workspace) lookAgain(g *grip, places []*resolvedPath, access []Access) error {
	same := make(map[*os.Root]*os.Root)
	for i, p := range places {
		now, err := w.locateIn(g.dirs, p.given, access[i].follows())
		if err != nil {
			return err
		}
		if !now.sameName(p) || same[p.dir] != now.dir && !sameRoot(p.dir, now.dir) {
			return errRaced
		}
		same[p.dir] = now.dir
		g.places = append(g.places, &held{resolvedPath: now, w: w})
	}
	return nil
}
