package undo

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"time"
)

const (
	// pruneWait is how long pruning waits for writers before it is postponed.
	pruneWait = 200 * time.Millisecond
	// unlockedAge is how long unused objects are kept on a file system without locks: another process may be
	// about to write a line that needs them.
	unlockedAge = time.Hour
	// recent is how long a call is kept after its last change, if the journals alone are not larger than the store
	// may be: it may still run, and people undo what has just gone wrong.
	recent = time.Hour
)

// Pruned is the result of pruning.
type Pruned struct {
	// Objects is how many contents were dropped, Bytes their size.
	Objects int
	Bytes   int64
	// Lines is how many changes were dropped for age, or to keep the journal small.
	Lines int
	// Left is the size of the store now, in bytes.
	Left int64
}

// quota is how many bytes a process adds between prunings. Pruning drops objects if less than one quota is free,
// until two are.
func (s *Store) quota() int64 { return max(s.options.MaxBytes/8, 4096) }

// journalLimit is how large the journals may become: each list of changes reads them.
func (s *Store) journalLimit() int64 { return s.options.MaxBytes / 4 }

// account counts added bytes. Each time they reach the quota it prunes, if the store is too large.
func (s *Store) account(ctx context.Context, v *storeDir, added int64) {
	if s.pending.Add(-added) > 0 {
		return
	}
	s.pending.Store(s.quota())
	if !s.tooLarge(v) {
		return
	}
	if _, err := s.prune(ctx, v, pruneWait); err != nil {
		s.options.Logger.DebugContext(ctx, "the undo store was not pruned", "error", err)
	}
}

// tooLarge reports whether pruning would drop something for its size. Unlike pruning it reads no journal.
func (s *Store) tooLarge(v *storeDir) bool {
	var journals, all int64
	_ = fs.WalkDir(v.dir.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			all += info.Size()
			if path.Dir(name) == "journal" {
				journals += info.Size()
			}
		}
		return nil
	})
	return journals > s.journalLimit() || all > s.options.MaxBytes-s.quota()
}

// Prune drops what is too old and, oldest first, what exceeds the limit on the size. The store does so itself as it
// grows; a long-lived process may do it at its start.
func (s *Store) Prune(ctx context.Context) (Pruned, error) {
	v, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) || s.why != nil {
		return Pruned{}, nil
	}
	if err != nil {
		return Pruned{}, s.storeError("prune", "", err)
	}
	defer v.close()
	p, err := s.prune(ctx, v, lockWait)
	return p, s.storeError("prune", "", err)
}

func (s *Store) prune(ctx context.Context, v *storeDir, wait time.Duration) (Pruned, error) {
	unlock, locked, err := v.lock(ctx, contentLock, true, wait)
	if err != nil {
		return Pruned{}, err
	}
	defer unlock()
	r := &pruner{store: s, now: s.options.Now(), locked: locked, used: make(map[string]time.Time)}
	if err := r.journals(ctx, v); err != nil {
		return r.done, err
	}
	return r.done, r.objects(ctx, v)
}

type pruner struct {
	store  *Store
	now    time.Time
	locked bool                 // no process is writing
	used   map[string]time.Time // objects and when they were last needed
	done   Pruned
}

// journals drops old lines, call by call, and notes which objects the others need.
func (r *pruner) journals(ctx context.Context, v *storeDir) error {
	dir, err := enter(v.dir, "journal", false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	var lines []*line // without content: it may be a hundred megabytes
	if err := v.eachLine(ctx, func(l *line) {
		if l.Data != nil {
			l.Data = []byte{}
		}
		lines = append(lines, l)
	}); err != nil {
		return err
	}
	drop := r.outdated(lines)
	rewrite := make(map[string]bool)
	for _, l := range lines {
		switch {
		case drop[callOf(l)]:
			rewrite[journalName(l.Session)] = true
			r.done.Lines++
		case l.keepsContent() && l.Data == nil && l.Time.After(r.used[l.Hash]):
			r.used[l.Hash] = l.Time
		}
	}
	for name := range rewrite {
		if r.locked {
			err = errors.Join(err, rewriteJournal(ctx, dir, name, func(l *line) bool { return !drop[callOf(l)] }))
		}
	}
	entries, listErr := names(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !r.removeStale(dir, e.Name(), info) {
			r.done.Left += info.Size()
		}
	}
	return errors.Join(err, listErr)
}

// callOfSession names a call among those of all sessions.
type callOfSession struct{ session, call string }

func callOf(l *line) callOfSession { return callOfSession{l.Session, l.Call} }

// outdated selects the calls that ended too long ago, and if the journals are too large the oldest ones, but
// neither the newest nor recent ones: those that still run would lose a part.
func (r *pruner) outdated(lines []*line) map[callOfSession]bool {
	last := make(map[callOfSession]time.Time)
	size := make(map[callOfSession]int64)
	var total int64
	for _, l := range lines {
		k := callOf(l)
		if l.Time.After(last[k]) {
			last[k] = l.Time
		}
		size[k] += l.bytes
		total += l.bytes
	}
	calls := slices.SortedFunc(maps.Keys(last), func(a, b callOfSession) int {
		return cmp.Or(last[a].Compare(last[b]), cmp.Compare(a.session, b.session), cmp.Compare(a.call, b.call))
	})
	limit := r.store.journalLimit()
	tooMuch := total > limit
	drop := make(map[callOfSession]bool)
	for i, k := range calls {
		age := r.now.Sub(last[k])
		mayGo := i < len(calls)-1 && (age > recent || total > r.store.options.MaxBytes)
		if age > r.store.options.MaxAge || mayGo && tooMuch && total > limit*3/4 {
			drop[k] = true
			total -= size[k]
		}
	}
	return drop
}

// rewriteJournal replaces a journal by those of its lines for which keep returns true, as keep has changed them.
func rewriteJournal(ctx context.Context, dir *os.Root, name string, keep func(*line) bool) error {
	some := false
	err := writeFile(dir, name, true, func(w io.Writer) error {
		var failed error
		err := readJournal(ctx, dir, name, func(l *line) {
			if failed != nil || !keep(l) {
				return
			}
			some = true
			text, err := l.appendTo(nil)
			if err == nil {
				_, err = w.Write(text)
			}
			failed = err
		})
		return errors.Join(err, failed)
	})
	if err == nil && !some {
		err = dir.Remove(name)
	}
	return err
}

// removeStale removes a file if it is an abandoned temporary one, and reports whether it did.
func (r *pruner) removeStale(dir *os.Root, name string, info fs.FileInfo) bool {
	return len(name) > len(tempPrefix) && name[:len(tempPrefix)] == tempPrefix && r.abandoned(info) &&
		dir.Remove(name) == nil
}

func (r *pruner) abandoned(info fs.FileInfo) bool {
	return r.locked || r.now.Sub(info.ModTime()) > unlockedAge
}

// object is a needed object.
type object struct {
	name string // with its directory
	size int64
	used time.Time
}

// objects drops what no line needs, then the oldest beyond the limit.
func (r *pruner) objects(ctx context.Context, v *storeDir) error {
	dir, err := enter(v.dir, "objects", false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	kept, err := r.collect(ctx, dir)
	if err != nil {
		return err
	}
	slices.SortFunc(kept, func(a, b object) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, o := range kept {
		r.done.Left += o.size
	}
	if r.done.Left <= r.store.options.MaxBytes-r.store.quota() {
		return nil
	}
	for _, o := range kept {
		if r.done.Left <= r.store.options.MaxBytes-2*r.store.quota() {
			break
		}
		if dir.Remove(o.name) == nil {
			r.done.Objects++
			r.done.Bytes += o.size
			r.done.Left -= o.size
		}
	}
	return nil
}

// collect removes the objects that no line needs, and returns the others.
func (r *pruner) collect(ctx context.Context, dir *os.Root) (kept []object, err error) {
	prefixes, err := names(dir)
	if err != nil {
		return nil, err
	}
	for _, prefix := range prefixes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sub, err := enter(dir, prefix.Name(), false)
		if err != nil {
			continue
		}
		entries, _ := names(sub)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && !r.removeStale(sub, e.Name(), info) {
				kept = r.consider(kept, sub, prefix.Name(), info)
			}
		}
		sub.Close()
	}
	return kept, nil
}

// consider removes an object that no line needs, or adds it to kept.
func (r *pruner) consider(kept []object, sub *os.Root, prefix string, info fs.FileInfo) []object {
	used, needed := r.used[prefix+info.Name()]
	if !needed && r.abandoned(info) && sub.Remove(info.Name()) == nil {
		r.done.Objects++
		r.done.Bytes += info.Size()
		return kept
	}
	return append(kept, object{path.Join(prefix, info.Name()), info.Size(), used})
}
