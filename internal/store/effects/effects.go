// Package effects records what the processes of a call change, so that it can be listed and undone like changes
// by tools. The sandbox's supervisor reports every change to a [Call] before it happens; at the end of the call
// the paths are examined again.
package effects

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// Limits of what is kept of one call.
const (
	MaxPaths = 50_000
	MaxBytes = 96 << 20
)

// patience bounds the wait for the watchers of a call's processes, which end with the last one.
const patience = 5 * time.Second

// Trees are where changes are recorded: the root of the workspace, and the further trees of file tools, all
// absolute real paths.
type Trees struct {
	Root  string
	Allow []string
	// Ignore are further patterns, as in a .gitignore file, of what is only counted. One that begins with ! is
	// recorded.
	Ignore []string
}

// name returns the undo store's name of a path; false if it lies elsewhere.
func (t Trees) name(path string) (string, bool) {
	if rest, ok := strings.CutPrefix(path, t.Root+"/"); ok {
		return rest, true
	}
	for _, tree := range t.Allow {
		if strings.HasPrefix(path, tree+"/") {
			return path, true
		}
	}
	return "", false
}

func (t Trees) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(t.Root, name)
}

func (t Trees) treeOf(path string) string {
	for _, tree := range t.Allow {
		if strings.HasPrefix(path, tree+"/") {
			return tree
		}
	}
	return t.Root
}

// Call records what the processes of one call change. It implements watch.Watcher.
type Call struct {
	trees   Trees
	rules   func() *rules // made once, before the first process runs
	effects *undo.Effects
	store   *undo.Store
	own     undo.Call
	running sync.WaitGroup
	began   atomic.Bool

	mu    sync.Mutex
	paths map[string]*kept
	// replaced are records of paths that have a later one.
	replaced []string
	links    map[undo.FileID][]string // the names of files that have several
	bytes    int64
	beyond   int               // paths past a bound
	ignored  map[string]int    // changes, by what they were ignored for
	moved    map[string]bool   // ignored names that are kept, since they moved to where changes are recorded
	objects  map[string]bool   // git's objects that the call made
	lost     map[string]string // why old content is not kept, by path
	missed   []string
	ended    bool
	late     *Call // for processes that outlive the call; may be nil

	patience  time.Duration
	unlocking sync.Mutex // held while modes are opened to read
}

type kept struct {
	id    string
	state undo.State
	// whole is false if the content is not recorded yet.
	whole bool
}

// New returns the watcher of a call. It costs next to nothing for calls without processes.
func New(store *undo.Store, call undo.Call, trees Trees) *Call {
	return &Call{trees: trees, rules: sync.OnceValue(func() *rules { return newRules(trees) }), store: store, own: call,
		effects: store.Effects(call), paths: make(map[string]*kept), ignored: make(map[string]int),
		moved: make(map[string]bool), objects: make(map[string]bool), lost: make(map[string]string), patience: patience}
}

// With returns a context whose processes the call watches, and which reports to it changes by file tools that
// are not kept. A nil call does neither.
func With(ctx context.Context, c *Call) context.Context {
	if c == nil {
		return ctx
	}
	return undo.WithLost(watch.With(ctx, c), func(path, why string) {
		c.report(func(c *Call) { c.lost[path] = why })
	})
}

// From returns the call that watches a context's processes, or nil.
func From(ctx context.Context) *Call {
	c, _ := watch.From(ctx).(*Call)
	return c
}

// Begin implements watch.Watcher.
func (c *Call) Begin() (done func()) {
	c.rules()
	c.began.Store(true)
	c.running.Add(1)
	return c.running.Done
}

// Active implements watch.Watcher.
func (c *Call) Active() bool { return c.began.Load() }

// Missed implements watch.Watcher.
func (c *Call) Missed(why string) { c.report(func(c *Call) { c.miss(why) }) }

// report passes a report to the call, or after its end to its background recorder; false without one.
func (c *Call) report(do func(*Call)) bool {
	c.mu.Lock()
	if !c.ended {
		defer c.mu.Unlock()
		do(c)
		return true
	}
	late := c.late
	c.mu.Unlock()
	return late != nil && late.report(do)
}

func (c *Call) miss(why string) {
	if !slices.Contains(c.missed, why) {
		c.missed = append(c.missed, why)
	}
}

// Wants implements watch.Watcher.
func (c *Call) Wants(path string, what watch.What) bool {
	wanted := true // if the call has ended, Before decides
	c.report(func(c *Call) { _, wanted = c.wants(path, what) })
	return wanted
}

func (c *Call) wants(path string, what watch.What) (name string, wanted bool) {
	name, dir := c.named(path)
	if k := c.paths[name]; k != nil {
		return name, what == watch.Content && !k.whole
	}
	if dir != "" {
		c.ignored[dir]++
		return "", false
	}
	return name, name != ""
}

// named returns the undo store's name of a path, "" if it has none, and the directory for which it is ignored.
func (c *Call) named(path string) (name, ignored string) {
	name, ok := c.trees.name(path)
	if !ok || undo.OwnFile(name) {
		return "", ""
	}
	if c.moved[name] {
		return name, ""
	}
	return name, c.rules().ignore(name)
}

// Before implements watch.Watcher.
func (c *Call) Before(at watch.Place, what watch.What) { c.report(before(at, what)) }

func before(at watch.Place, what watch.What) func(*Call) {
	return func(c *Call) { c.before(at, what) }
}

// Rename implements watch.Watcher. The content of a directory moves with it.
func (c *Call) Rename(from, to watch.Place, exchange bool) { c.report(renamed(from, to, exchange)) }

func renamed(from, to watch.Place, exchange bool) func(*Call) {
	return func(c *Call) {
		c.beforeMove(from, to)
		if exchange {
			c.beforeMove(to, from)
		}
		c.moveTree(from, to)
		if exchange {
			c.moveTree(to, from)
		}
	}
}

// beforeMove is Before for a name and its destination. An ignored name is kept if the destination is recorded: undo
// removes that.
func (c *Call) beforeMove(from, to watch.Place) {
	name, ignored := c.named(from.Path)
	if there, counted := c.named(to.Path); ignored != "" && there != "" && counted == "" {
		c.moved[name] = true
	}
	c.before(from, watch.Content)
	c.before(to, watch.Content)
}

func (c *Call) before(at watch.Place, what watch.What) {
	name, wanted := c.wants(at.Path, what)
	if !wanted {
		if name == "" && at.Name == "" { // the file may have a name that is wanted
			c.beforeLinks(readState(at, false, 0), what)
		}
		return
	}
	if len(c.paths) >= MaxPaths && c.paths[name] == nil {
		c.beyond++
		return
	}
	state := readState(at, what == watch.Content, MaxBytes-c.bytes)
	if state.Mode&undo.SpecialTypes != 0 || c.objects[name] {
		if state.Lost != "" {
			c.miss("what " + name + " holds: " + state.Lost)
		}
		return
	}
	if !state.Exists && c.added(name) {
		c.objects[name] = true
		return
	}
	c.recordState(name, state, what == watch.Content || !state.Mode.IsRegular())
	c.beforeLinks(state, what)
}

// added reports whether a new path is an object of a repository that existed before the call.
func (c *Call) added(name string) bool {
	dir := repository(name)
	known := c.paths[dir]
	return dir != "" && (known == nil || known.state.Exists)
}

// recordState records the state of a path before its first change, and again before its content changes too.
func (c *Call) recordState(name string, state undo.State, whole bool) {
	if known := c.paths[name]; known != nil {
		state.Mode = known.state.Mode // as it was at first
		c.replaced = append(c.replaced, known.id)
	}
	c.began.Store(true)
	id, err := c.effects.Before(name, state)
	if err != nil {
		state.Lost = fmt.Sprintf("it cannot be kept in %s: %v", c.store.Dir(), cause(err))
	}
	c.bytes += int64(len(state.Content))
	state.Content = nil
	c.paths[name] = &kept{id, state, whole}
}

// cause returns the innermost error, which is the same for all paths.
func cause(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// Report is the outcome of a call.
type Report struct {
	// Files are the changed paths, sorted, named as in the undo store.
	Files []string
	// Lost are those whose old content is not kept, with the reason.
	Lost map[string]string
	// Ignored counts changes that are not recorded, by directory.
	Ignored map[string]int
	// Beyond counts the paths past MaxPaths.
	Beyond int
	// Missed is why there may be more changes, Err what failed.
	Missed []string
	Err    error
}

// End waits for the end of the call's processes and records the results of their changes.
func (c *Call) End() *Report {
	if !c.Active() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
		return c.noted(&Report{Lost: c.lost, Missed: c.missed})
	}
	over := make(chan struct{})
	go func() { c.running.Wait(); close(over) }()
	outlived := false
	select {
	case <-over:
	case <-time.After(c.patience):
		outlived = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if outlived {
		c.miss("a process of the call still runs")
		if c.late = c.Detach(); c.late != nil {
			go func() { c.running.Wait(); c.late.End() }()
		}
	}
	r := &Report{Lost: c.lost, Ignored: c.ignored, Beyond: c.beyond}
	ended, unchanged := make(map[string]undo.State), c.replaced
	for name, state := range c.endOfAll() {
		k := c.paths[name]
		same := state.Same(k.state)
		if state.Lost != "" {
			c.miss("what " + name + " holds in the end: " + state.Lost)
			state.Lost = ""
		}
		if was := k.state.Special; was != 0 && !same || was != state.Special && k.state.Exists {
			c.miss("the set-user-ID, set-group-ID and sticky bits of " + name)
		}
		if same {
			unchanged = append(unchanged, k.id)
			continue
		}
		ended[k.id] = state
		r.Files = append(r.Files, name)
		if k.state.Lost != "" {
			r.Lost[name] = k.state.Lost
		}
	}
	slices.Sort(r.Files)
	if len(c.paths) > 0 {
		after := c.effects.After(ended, unchanged)
		dropped, err := c.effects.Dropped()
		if dropped > 0 {
			c.miss(fmt.Sprintf("what %d of the paths held before: the undo history no longer has it", dropped))
		}
		r.Err = errors.Join(after, err)
	}
	r.Missed = c.missed
	clear(c.paths)
	return c.noted(r)
}

// noted records in the undo store what is not kept.
func (c *Call) noted(r *Report) *Report {
	if note := r.Note(); note != "" {
		if err := c.effects.NotKept(note); err != nil && r.Err == nil {
			r.Err = err
		}
	}
	c.effects.Close()
	return r
}

// endOfAll returns the final state of all paths.
func (c *Call) endOfAll() map[string]undo.State {
	names := slices.Collect(maps.Keys(c.paths))
	states, reals := make([]undo.State, len(names)), make(map[string]bool)
	for _, name := range names {
		c.real(filepath.Dir(c.trees.path(name)), reals)
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 1+len(names)/16) {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(names); i = int(next.Add(1)) - 1 {
				if reals[filepath.Dir(c.trees.path(names[i]))] {
					k, state := c.paths[names[i]], c.now(c.trees.path(names[i]))
					if !k.whole && state.Exists && state.Mode.Type() == k.state.Mode.Type() {
						// The content was not written.
						state.Hash, state.Size, state.ModTime, state.Changed = "", k.state.Size, k.state.ModTime, k.state.Changed
					}
					states[i] = state
				}
			}
		})
	}
	done.Wait()
	all := make(map[string]undo.State, len(names))
	for i, name := range names {
		all[name] = states[i]
	}
	return all
}

// real reports whether a path is a directory and no symlink has replaced a parent. known caches that.
func (c *Call) real(dir string, known map[string]bool) bool {
	is, ok := known[dir]
	if !ok {
		is = true
		if _, inside := c.trees.name(dir); inside {
			now := c.now(dir)
			is = (now.Mode.IsDir() || now.Lost != "") && c.real(filepath.Dir(dir), known)
		}
		known[dir] = is
	}
	return is
}
