package undo

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

// Changes by processes are recorded in two steps: before the first change, a line with what a path held, and
// when the call ends, one with what all of its paths hold then.
const (
	opBefore  = "before"
	opAfter   = "after"
	opNotKept = "unkept" // the call changed more; Lost says what
)

// SpecialTypes are the types of files that are not recorded or restored: pipes, sockets and devices.
const SpecialTypes = fs.ModeNamedPipe | fs.ModeSocket | fs.ModeDevice | fs.ModeCharDevice | fs.ModeIrregular

// State is what a path holds: nothing (Mode zero and Exists false), or a file, directory or symlink.
type State struct {
	Exists bool
	Mode   fs.FileMode
	// Plain is Mode without the access control list; nil if there is no list.
	Plain   *fs.FileMode
	Size    int64
	ModTime time.Time
	// Content is a file's, or a symlink's target; Hash its digest. Comparing states needs no content.
	Content []byte
	Hash    string
	// Lost is why the content is not kept; empty if it is.
	Lost string
	// Links is the number of a file's names, File its identity, and Changed when anything of it was changed. They are not
	// recorded.
	Links   uint64
	File    FileID
	Changed time.Time
	// Special are the set-user-ID, set-group-ID and sticky bits, which undo never sets. They are not recorded.
	Special fs.FileMode
}

// FileID identifies a file.
type FileID struct{ Dev, Ino uint64 }

// Same reports whether kind, content and mode are equal.
func (s State) Same(other State) bool {
	if s.Exists != other.Exists || !s.Exists {
		return s.Exists == other.Exists
	}
	if s.Mode.Type() != other.Mode.Type() || s.Mode&fs.ModeSymlink == 0 && s.Mode.Perm() != other.Mode.Perm() {
		return false
	}
	if s.Hash == "" || other.Hash == "" {
		return s.Mode.IsDir() || s.Size == other.Size && s.ModTime.Equal(other.ModTime) && s.Changed.Equal(other.Changed)
	}
	return s.Hash == other.Hash
}

// result is what a path held at the end of a call.
type result struct {
	ID      string      `json:"id"`
	Exists  bool        `json:"exists,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	Hash    string      `json:"hash,omitempty"`
	Size    int64       `json:"size,omitempty"`
	ModTime time.Time   `json:"mtime,omitzero"`
	// Same is set for a path that has not changed in the end.
	Same bool `json:"same,omitempty"`
}

// Effects records what the processes of a call change. Its methods may be called from any goroutine, one at a
// time. The caller must close it.
type Effects struct {
	store         *Store
	call          Call
	journalWriter *journalWriter // nil before the first line
	recorded      int            // lines that Before has written
}

// Effects returns the recorder for the processes of a call. A call without an ID gets one with its first
// change.
func (s *Store) Effects(call Call) *Effects {
	if call.Session == "" {
		call.Session = "default"
	}
	return &Effects{store: s, call: call}
}

func (e *Effects) newLine(op string) *line {
	if e.call.ID == "" {
		e.call.ID = e.store.options.CallID()
	}
	return e.store.newLine(e.call, op)
}

// Before records what a path holds, named as in workspace.Before. id is for After.
func (e *Effects) Before(path string, state State) (id string, err error) {
	l := e.newLine(opBefore)
	l.Path, l.Lost = pathName(path), state.Lost
	if state.Exists {
		l.Mode, l.Size, l.ModTime, l.Hash = state.Mode, state.Size, state.ModTime, state.Hash
		l.Exists, l.Plain = true, state.Plain
	}
	err = e.write(l, func(v *storeDir) (added int64, err error) {
		switch {
		case !state.Exists:
		case state.Mode&fs.ModeSymlink != 0:
			target := pathName(state.Content)
			l.Link = &target
		case state.Mode.IsRegular() && state.Lost == "" && state.Hash != "":
			return e.store.storeObject(v, l, state.Content)
		}
		return 0, nil
	})
	if err == nil {
		e.recorded++
	}
	return l.ID, e.store.storeError("keep what changes", "", err)
}

// Dropped returns how many of the states that Before has recorded are no longer in the journal, because pruning
// needed their place or the store was removed.
func (e *Effects) Dropped() (int, error) {
	if e.journalWriter == nil || !e.journalWriter.replaced {
		return 0, nil
	}
	left := 0
	err := e.journalWriter.storeDir.eachLine(context.Background(), func(l *line) {
		if l.Op == opBefore && l.Session == e.call.Session && l.Call == e.call.ID {
			left++
		}
	})
	return max(e.recorded-left, 0), e.store.storeError("read what was kept", "", err)
}

// After records what the paths hold in the end, by the IDs from Before.
func (e *Effects) After(ended map[string]State, unchanged []string) error {
	l := e.newLine(opAfter)
	for id, state := range ended {
		r := result{ID: id}
		if state.Exists {
			r.Exists, r.Mode, r.Hash, r.Size, r.ModTime = true, state.Mode, state.Hash, state.Size, state.ModTime
		}
		l.After = append(l.After, r)
	}
	for _, id := range unchanged {
		l.After = append(l.After, result{ID: id, Same: true})
	}
	slices.SortFunc(l.After, func(a, b result) int { return cmp.Compare(a.ID, b.ID) })
	for part := range slices.Chunk(l.After, mostResults) {
		some := *l
		some.ID, some.After = e.newLine(opAfter).ID, part
		if err := e.write(&some, nil); err != nil {
			return e.store.storeError("keep what has changed", "", err)
		}
	}
	return nil
}

// NotKept records, as text for people, what else the call changed that cannot be undone.
func (e *Effects) NotKept(note string) error {
	l := e.newLine(opNotKept)
	l.Lost = note
	return e.store.storeError("keep what is not kept", "", e.write(l, nil))
}

// mostResults bounds the results in one line.
const mostResults = 4096

// write adds a line after content has stored what the line names.
func (e *Effects) write(l *line, content func(*storeDir) (int64, error)) error {
	if e.store.why != nil {
		return nil
	}
	ctx := context.Background()
	if e.journalWriter == nil {
		journalWriter, err := e.store.openWriter(e.call.Session)
		if err != nil {
			return err
		}
		e.journalWriter = journalWriter
	}
	if err := e.journalWriter.lock(ctx); err != nil {
		return err
	}
	var added int64
	var err error
	if content != nil {
		added, err = content(e.journalWriter.storeDir)
	}
	if err == nil {
		var n int64
		n, err = e.store.appendTo(e.journalWriter.journal, l)
		added += n
	}
	e.journalWriter.unlock()
	if err == nil {
		e.store.account(ctx, e.journalWriter.storeDir, added)
	}
	return err
}

// Close closes what is kept open between lines. The next line opens it again.
func (e *Effects) Close() {
	if e.journalWriter != nil {
		e.journalWriter.close()
		e.journalWriter = nil
	}
}

// mergeSteps merges the two steps into changes. Creations come after removals: undo then removes the new one
// first. If a call never ended, because toolhost was killed, the state after is unknown. What a call has not ended comes
// after what it has ended on the same path: of a shell session, the next recorder begins before the last one ends.
func mergeSteps(lines []*line) []*line {
	if !slices.ContainsFunc(lines, func(l *line) bool { return l.Op == opBefore }) {
		return lines
	}
	before := make(map[string]*line)
	ended := make(map[string]bool)
	type pathOf struct {
		callRef
		path pathName
	}
	lastEnd := make(map[pathOf]int)
	for i, l := range lines {
		switch l.Op {
		case opBefore:
			before[l.ID] = l
		case opAfter:
			for _, r := range l.After {
				ended[r.ID] = true
				if b := before[r.ID]; b != nil {
					lastEnd[pathOf{b.ref(), b.Path}] = i
				}
			}
		}
	}
	var all []*line
	later := make(map[int][]*line)
	for i, l := range lines {
		switch {
		case l.Op == opBefore && !ended[l.ID]:
			unfinished := *l
			unfinished.unended = true
			unfinished.Op = string(workspace.Delete)
			if !l.Exists {
				unfinished.Op = string(workspace.Create)
			}
			if end := lastEnd[pathOf{l.ref(), l.Path}]; end > i {
				later[end] = append(later[end], &unfinished)
			} else {
				all = append(all, &unfinished)
			}
		case l.Op == opAfter:
			var goes, comes []*line
			for _, r := range l.After {
				if b := before[r.ID]; b != nil && !r.Same {
					g, c := b.changesTo(r)
					for _, change := range slices.Concat(g, c) {
						change.ended = l.ID
					}
					goes, comes = append(goes, g...), append(comes, c...)
				}
			}
			all = append(append(append(all, goes...), comes...), later[i]...)
		case l.Op != opBefore:
			all = append(all, l)
		}
	}
	return all
}

// created ends the ID of what a change left where nothing, or something of another type, was.
const created = "+"

// changesTo returns the changes from a line's state to a result: removals and creations.
func (l *line) changesTo(r result) (goes, comes []*line) {
	was, is := l.Exists, r.Exists
	same := was && is && l.Mode.Type() == r.Mode.Type()
	if same {
		c := *l
		c.Op, c.NewHash, c.NewMode = string(workspace.Replace), r.Hash, r.Mode
		c.newSize, c.newTime = r.Size, r.ModTime
		if l.Mode.IsDir() || l.Hash == r.Hash && (l.Hash != "" || l.Size == r.Size && l.ModTime.Equal(r.ModTime)) {
			c.Op = string(workspace.Chmod)
		}
		return []*line{&c}, nil
	}
	if was {
		c := *l
		c.Op = string(workspace.Delete)
		goes = []*line{&c}
	}
	if is {
		c := line{ID: l.ID + created, Time: l.Time, Session: l.Session, Call: l.Call, Step: l.Step, Tool: l.Tool,
			Path: l.Path, Op: string(workspace.Create), NewHash: r.Hash, NewMode: r.Mode,
			newSize: r.Size, newTime: r.ModTime}
		if r.Mode.IsDir() {
			c.Op = string(workspace.Mkdir)
		}
		comes = []*line{&c}
	}
	return goes, comes
}
