package fork

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/files/textedit"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/review"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/run/view"
)

// now gives what the fork holds by a name. shows says that it is what the workspace
// holds there.
func (f *Fork) now(name string) (is undo.State, shows bool, err error) {
	covered := false
	for at := 0; ; {
		end := strings.IndexByte(name[at:], '/')
		part := name
		if end >= 0 {
			part = name[:at+end]
			at += end + 1
		}
		stat, there, err := f.upper.lstat(part)
		switch {
		case err != nil:
			return is, false, err
		case !there:
			return is, !covered, nil
		case whiteout(&stat):
			return is, false, nil
		case end < 0:
			is, err = f.upper.state(name)
			return is, false, err
		case stat.Mode&unix.S_IFMT != unix.S_IFDIR:
			return is, false, nil
		}
		lower, below, err := f.lower.lstat(part)
		if err != nil {
			return is, false, err
		}
		covered = covered || !below || lower.Mode&unix.S_IFMT != unix.S_IFDIR || f.upper.has(part, view.Opaque)
	}
}

// Merge is what a merge of a fork would do.
type Merge struct {
	Changes   *review.Changes
	Conflicts []Conflict
	Left      []Left

	fork     *Fork
	ctx      context.Context
	planned  map[string]int    // of Changes.List, by path
	moved    map[string]string // where directories of the fork go that cannot go to their own place
	kept     map[string]bool   // directories of the workspace that stay, with what is in them
	intended []intent
	settled  []intent // of which nothing is to be done
	call     string   // that makes the merge
}

// Plan works out what merging the fork does to the workspace.
func (f *Fork) Plan(ctx context.Context) (*Merge, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.recover(); err != nil {
		return nil, err
	}
	f.upper.read, f.lower.read = 0, 0
	m := &Merge{Changes: new(review.Changes), fork: f, ctx: ctx, planned: make(map[string]int),
		moved: make(map[string]string), kept: make(map[string]bool)}
	names := slices.Sorted(maps.Keys(f.known))
	skip := m.repositories(names)
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !skip[name] {
			m.path(name)
		}
	}
	slices.SortFunc(m.Changes.List, func(a, b review.Change) int { return strings.Compare(a.Path, b.Path) })
	return m, nil
}

// three are the versions of a path: what the fork began with, what it holds, and
// what the workspace holds.
type three struct {
	base    base
	is, was undo.State
}

// versions reads the three of a path. ok is false where there is nothing to do.
func (m *Merge) versions(name string) (v three, ok bool) {
	f := m.fork
	v.base = f.known[name]
	var shows bool
	var err error
	if v.is, shows, err = f.now(name); err == nil && !shows {
		if v.is.Same(v.base.State) && !v.base.unknown {
			return v, false
		}
		v.was, err = f.lower.state(name)
	}
	if err != nil {
		m.leave(name, "it cannot be read: "+err.Error())
		return v, false
	}
	return v, !shows
}

func (m *Merge) leave(name, why string) { m.Left = append(m.Left, Left{name, why}) }

func (m *Merge) conflict(name, why, beside string) {
	m.Conflicts = append(m.Conflicts, Conflict{name, why, beside})
}

func tooLarge(s undo.State) bool { return strings.HasPrefix(s.Hash, unreadMark) }

// path plans what becomes of one path.
func (m *Merge) path(name string) {
	v, ok := m.versions(name)
	if !ok {
		return
	}
	switch {
	case v.is.Mode&undo.Unkept != 0:
		m.leave(name, "it is a pipe, a socket or a device")
	case v.was.Mode&undo.Unkept != 0:
		m.leave(name, "the workspace has a pipe, a socket or a device there")
	case tooLarge(v.is) || tooLarge(v.was):
		m.leave(name, "it is too large to be merged and undone")
	case m.stays(name) && !v.is.Exists:
		m.settle(name, v.is, name, v.was)
	case m.elsewhere(name):
		m.put(name, v.is)
	case v.is.Same(v.was):
		m.settle(name, v.is, name, v.is)
	case v.was.Same(v.base.State) && !v.base.unknown, !v.was.Exists && v.base.unknown:
		m.take(name, v)
	default:
		m.both(name, v)
	}
}

// stays reports that a path lies in a directory that stays as it is.
func (m *Merge) stays(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if m.kept[dir] {
			return true
		}
	}
	return false
}

// elsewhere reports that a path of the fork cannot go to its own place, since a
// directory on the way there is none in the workspace.
func (m *Merge) elsewhere(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := m.moved[dir]; ok || m.kept[dir] {
			return true
		}
	}
	return false
}

// target is where a path of the fork goes.
func (m *Merge) target(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if to, ok := m.moved[dir]; ok {
			return to + strings.TrimPrefix(name, dir)
		}
	}
	return name
}

// take has the workspace hold what the fork holds.
func (m *Merge) take(name string, v three) {
	if v.was.Mode.IsDir() && v.is.Exists && !v.is.Mode.IsDir() && m.inhabited(name) {
		m.kept[name] = true
		m.beside(name, v.is, "the fork has replaced the directory, and others have changed what is in it")
		return
	}
	if !v.is.Exists {
		m.change(name, v.was, v.is, nil)
		m.intend(name, v.is, name, v.is)
		return
	}
	m.put(name, v.is)
}

// inhabited reports that a directory of the workspace holds what the fork has not
// seen.
func (m *Merge) inhabited(dir string) bool {
	names, err := m.fork.lower.names(dir)
	if err != nil {
		return true
	}
	for _, entry := range names {
		name := path.Join(dir, entry)
		b, ok := m.fork.known[name]
		was, err := m.fork.lower.state(name)
		if !ok || err != nil || b.unknown || !was.Same(b.State) || was.Mode.IsDir() && m.inhabited(name) {
			return true
		}
	}
	return false
}

// put has what the fork holds come into the workspace.
func (m *Merge) put(name string, is undo.State) {
	if !is.Exists {
		m.settle(name, is, name, undo.State{})
		return
	}
	if !m.reach(path.Dir(name)) {
		m.put(name, is) // to where its directory goes now
		return
	}
	to := m.target(name)
	was, err := m.fork.lower.state(to)
	if err != nil {
		m.leave(name, "where it goes cannot be read: "+err.Error())
		return
	}
	if !was.Same(is) {
		m.change(to, was, is, func() ([]byte, error) { return m.fork.upper.content(name, is) })
	}
	m.intend(name, is, to, is)
}

// reach plans the directories on the way to a path. It is false where something
// else lies there in the workspace: the fork's directory goes beside that then.
func (m *Merge) reach(dir string) bool {
	if dir == "." {
		return true
	}
	if !m.reach(path.Dir(dir)) {
		return false
	}
	to := m.target(dir)
	if moved, ok := m.moved[dir]; ok {
		to = moved
	}
	if at, ok := m.planned[to]; ok {
		return m.Changes.List[at].After.Mode.IsDir()
	}
	was, err := m.fork.lower.state(to)
	switch {
	case err == nil && was.Mode.IsDir():
		return true
	case err == nil && !was.Exists:
		is, shows, err := m.fork.now(dir)
		if err != nil || shows || !is.Mode.IsDir() {
			is = undo.State{Exists: true, Mode: fs.ModeDir | 0o755}
		}
		m.change(to, was, is, nil)
		return true
	}
	is := undo.State{Exists: true, Mode: fs.ModeDir | 0o755}
	m.move(dir, is, "others have replaced the directory, and the fork has changed what is in it")
	return false
}

// move has a directory of the fork go beside what the workspace has there.
func (m *Merge) move(dir string, is undo.State, why string) {
	to := m.free(m.target(dir), undo.State{})
	m.moved[dir] = to
	m.conflict(dir, why, to)
	m.change(to, undo.State{}, is, nil)
	m.intend(dir, is, to, is)
}

// both plans a path that the fork and others have changed.
func (m *Merge) both(name string, v three) {
	switch {
	case !v.is.Exists:
		m.conflict(name, "the fork has removed it, and others have changed it", "")
		m.settled = append(m.settled, m.intention(name, v.is, name, v.was))
	case v.is.Mode.IsDir() && v.was.Mode.IsDir():
		m.conflict(name, "the fork and others have changed its mode", "")
		m.settled = append(m.settled, m.intention(name, v.is, name, v.was))
	case v.is.Mode.IsDir() && v.was.Exists:
		m.move(name, v.is, "the fork has a directory there, and others have something else")
	case v.is.Mode.IsDir():
		m.put(name, v.is)
	case !v.was.Exists:
		m.beside(name, v.is, "the fork has changed it, and others have removed it")
	case v.was.Mode.IsDir():
		m.beside(name, v.is, "others have a directory there")
	case v.base.unknown:
		m.beside(name, v.is, "others have changed it at about the time when the fork did")
	case !v.base.Exists:
		m.beside(name, v.is, "the fork and others have made it")
	case !v.is.Mode.IsRegular() || !v.was.Mode.IsRegular() || !v.base.Mode.IsRegular():
		m.beside(name, v.is, "the fork and others have changed it, and it is no text")
	default:
		m.text(name, v)
	}
}

// text merges a file that is one in all three versions.
func (m *Merge) text(name string, v three) {
	mode := v.is.Mode
	if v.is.Mode == v.base.Mode {
		mode = v.was.Mode
	} else if v.was.Mode != v.base.Mode && v.was.Mode != v.is.Mode {
		mode = v.was.Mode
		m.conflict(name, "the fork and others have changed its mode", "")
	}
	merged, conflicts, why := m.merged(name, v)
	if why != "" {
		m.beside(name, v.is, why)
		return
	}
	if conflicts > 0 {
		m.conflict(name, "the fork and others have changed the same lines ("+strconv.Itoa(conflicts)+
			" places are marked)", "")
	}
	want := undo.State{Exists: true, Mode: mode, Size: int64(len(merged)), Hash: workspace.Hash(merged)}
	if !want.Same(v.was) {
		m.change(name, v.was, want, func() ([]byte, error) {
			again, _, why := m.merged(name, v)
			if why != "" {
				return nil, errors.New(why)
			}
			return again, nil
		})
	}
	m.intend(name, v.is, name, want)
}

// merged is the content of a file that both sides have changed. why says that there
// is none.
func (m *Merge) merged(name string, v three) (data []byte, conflicts int, why string) {
	if max(v.is.Size, v.was.Size, v.base.Size) > mostMerged && v.is.Hash != v.base.Hash && v.was.Hash != v.base.Hash &&
		v.is.Hash != v.was.Hash {
		return nil, 0, "the fork and others have changed it, and it is too large to be merged by lines"
	}
	ours, err := m.fork.lower.content(name, v.was)
	if err != nil {
		return nil, 0, "the workspace's side cannot be read: " + err.Error()
	}
	if v.is.Hash == v.base.Hash || v.is.Hash == v.was.Hash {
		return ours, 0, ""
	}
	theirs, err := m.fork.upper.content(name, v.is)
	if err != nil {
		return nil, 0, "the fork's side cannot be read: " + err.Error()
	}
	if v.was.Hash == v.base.Hash {
		return theirs, 0, ""
	}
	if !isText(ours) || !isText(theirs) {
		return nil, 0, "the fork and others have changed it, and it is no text"
	}
	old, err := m.fork.kept(v.base.Hash)
	if err != nil {
		return nil, 0, "the fork and others have changed it, and what it was is not kept as text"
	}
	data, conflicts = textedit.Merge(old, ours, theirs, m.fork.labels())
	return data, conflicts, ""
}

// labels name the sides in the marks of a conflict.
func (f *Fork) labels() textedit.Labels {
	return textedit.Labels{Ours: "workspace", Theirs: "fork " + f.Name}
}

// beside keeps both sides: the workspace's in its place, the fork's next to it.
func (m *Merge) beside(name string, is undo.State, why string) {
	if !m.reach(path.Dir(name)) {
		m.put(name, is)
		return
	}
	to := m.free(m.target(name), is)
	m.conflict(name, why, to)
	was, err := m.fork.lower.state(to)
	if err != nil {
		m.leave(name, "where it goes cannot be read: "+err.Error())
		return
	}
	if !was.Same(is) {
		m.change(to, was, is, func() ([]byte, error) { return m.fork.upper.content(name, is) })
	}
	m.intend(name, is, to, is)
}

// free is a name next to another by which there is nothing, or what is to be there
// already.
func (m *Merge) free(name string, is undo.State) string {
	suffix := ".fork-" + m.fork.Name
	for i := 1; ; i++ {
		if i > 1 {
			suffix = ".fork-" + m.fork.Name + "." + strconv.Itoa(i)
		}
		dir, last := path.Split(name)
		to := dir + last[:min(len(last), unix.NAME_MAX-len(suffix))] + suffix
		if _, taken := m.planned[to]; taken {
			continue
		}
		was, err := m.fork.lower.state(to)
		if err != nil || !was.Exists || is.Exists && was.Same(is) {
			return to // what cannot be read now is refused when the change is made
		}
	}
}

// change plans a change of the workspace.
func (m *Merge) change(name string, was, is undo.State, content func() ([]byte, error)) {
	if _, ok := m.planned[name]; ok {
		return
	}
	lower := m.fork.lower
	m.planned[name] = len(m.Changes.List)
	m.Changes.List = append(m.Changes.List, review.Planned(name, was, is,
		func() ([]byte, error) { return lower.content(name, was) }, content,
		func() (undo.State, error) { return lower.state(name) }))
}

func (m *Merge) intention(name string, is undo.State, to string, want undo.State) intent {
	b := m.fork.known[name]
	return intent{line: lineOf(name, base{State: is, below: b.below}), At: []byte(to),
		Want: lineOf(to, base{State: want})}
}

// intend notes that a path is merged once the workspace holds what it is to hold.
func (m *Merge) intend(name string, is undo.State, to string, want undo.State) {
	m.intended = append(m.intended, m.intention(name, is, to, want))
}

// settle is intend for what the workspace holds already.
func (m *Merge) settle(name string, is undo.State, to string, holds undo.State) {
	m.intended = append(m.intended, m.intention(name, is, to, holds))
}

// Empty reports that there is nothing to do in the workspace and nothing to say.
func (m *Merge) Empty() bool {
	return len(m.Changes.List) == 0 && len(m.Conflicts) == 0 && len(m.Left) == 0
}

// Diff is what the fork has changed since it began, or was merged.
func (f *Fork) Diff(ctx context.Context) (*review.Changes, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.recover(); err != nil {
		return nil, err
	}
	f.upper.read, f.lower.read = 0, 0
	found := new(review.Changes)
	for _, name := range slices.Sorted(maps.Keys(f.known)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := f.known[name]
		is, shows, err := f.now(name)
		if err != nil {
			return nil, damaged(f.Name, err)
		}
		was := b.State
		if b.unknown {
			if was, err = f.lower.state(name); err != nil {
				return nil, damaged(f.Name, err)
			}
		}
		switch {
		case shows || is.Same(was) || f.sandboxMade(name):
		case is.Mode&undo.Unkept != 0:
			found.Unkept = append(found.Unkept, name)
		default:
			found.List = append(found.List, review.Planned(name, was, is,
				func() ([]byte, error) { return f.before(name, b) },
				func() ([]byte, error) { return f.upper.content(name, is) },
				func() (undo.State, error) { return f.lower.state(name) }))
		}
	}
	return found, nil
}

// before is what a path held.
func (f *Fork) before(name string, b base) ([]byte, error) {
	if data, err := f.kept(b.Hash); err == nil {
		return data, nil
	}
	return f.lower.content(name, b.State)
}
