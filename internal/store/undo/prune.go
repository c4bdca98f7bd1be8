package undo

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
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

// account counts added bytes, and prunes once they reach the quota.
func (s *Store) account(ctx context.Context, v *storeDir, added int64) {
	if s.pending.Add(-added) > 0 {
		return
	}
	s.pending.Store(s.quota())
	if _, err := s.prune(ctx, v, pruneWait); err != nil {
		s.options.Logger.DebugContext(ctx, "the undo store was not pruned", "error", err)
	}
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
	lines, err := v.journal(ctx)
	if err != nil {
		return err
	}
	drop := r.outdated(lines)
	rewrite := make(map[string]bool)
	for _, l := range lines {
		switch {
		case drop[l]:
			rewrite[journalName(l.Session)] = true
			r.done.Lines++
		case l.keepsContent() && l.Data == nil && l.Time.After(r.used[l.Hash]):
			r.used[l.Hash] = l.Time
		}
	}
	for name := range rewrite {
		if r.locked {
			err = errors.Join(err, rewriteJournal(dir, name, lines, drop))
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

// outdated selects the lines of calls that ended too long ago, and of the oldest calls if all take more than a
// quarter of the limit.
func (r *pruner) outdated(lines []*line) map[*line]bool {
	type key struct{ session, call string }
	last := make(map[key]time.Time)
	size := make(map[key]int64)
	var total int64
	for _, l := range lines {
		k := key{l.Session, l.Call}
		if l.Time.After(last[k]) {
			last[k] = l.Time
		}
		size[k] += l.bytes
		total += l.bytes
	}
	calls := make([]key, 0, len(last))
	for k := range last {
		calls = append(calls, k)
	}
	slices.SortFunc(calls, func(a, b key) int {
		return cmp.Or(last[a].Compare(last[b]), cmp.Compare(a.session, b.session), cmp.Compare(a.call, b.call))
	})
	limit := r.store.options.MaxBytes / 4
	tooMuch := total > limit
	old := make(map[key]bool)
	for _, k := range calls {
		if r.now.Sub(last[k]) > r.store.options.MaxAge || tooMuch && total > limit*3/4 {
			old[k] = true
			total -= size[k]
		}
	}
	drop := make(map[*line]bool)
	for _, l := range lines {
		if old[key{l.Session, l.Call}] {
			drop[l] = true
		}
	}
	return drop
}

func rewriteJournal(dir *os.Root, name string, lines []*line, drop map[*line]bool) error {
	var b bytes.Buffer
	for _, l := range lines {
		if drop[l] || journalName(l.Session) != name {
			continue
		}
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		b.WriteByte('\n')
		b.Write(data)
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return dir.Remove(name)
	}
	return replaceFile(dir, name, b.Bytes(), true)
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
