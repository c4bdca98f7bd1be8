package undo

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// Change is one recorded change of a file, which may have failed afterwards.
type Change struct {
	ID      string         `json:"id"`
	Time    time.Time      `json:"time"`
	Session string         `json:"session"`
	Call    string         `json:"call"`
	Step    int            `json:"step,omitempty"`
	Tool    string         `json:"tool,omitempty"`
	Kind    workspace.Kind `json:"kind"`
	// Path is relative to the workspace, or absolute in an allowed directory.
	Path string `json:"path"`
	// To is the new path of a rename.
	To string `json:"to,omitempty"`
	// Size is that of the old content in bytes, if any.
	Size int64 `json:"size,omitempty"`
	// Lost is why the old content cannot be restored; empty if it can.
	Lost string `json:"lost,omitempty"`
	// UndoneBy is the call that undid the change; empty while it stands.
	UndoneBy string `json:"undone_by,omitempty"`

	line *line
}

// CallInfo is what one call changed.
type CallInfo struct {
	Session string    `json:"session"`
	Call    string    `json:"call"`
	Step    int       `json:"step,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Time    time.Time `json:"time"` // of the last change
	// Files are the paths that changed, sorted.
	Files []string `json:"files"`
	// Lost counts the changes whose old content cannot be restored.
	Lost int `json:"lost,omitempty"`
	// NotKept describes what else it changed that cannot be undone.
	NotKept string `json:"not_kept,omitempty"`
	// UndoneBy is the call that undid this one; empty while any of it stands.
	UndoneBy string `json:"undone_by,omitempty"`
	// Undoes lists the calls that this one undid.
	Undoes []string `json:"undoes,omitempty"`
	// Summary counts its changes, if Filter.Workspace is given.
	Summary *change.Summary `json:"summary,omitempty"`

	stands bool // some of its changes
}

// Filter selects changes. The zero value selects all.
type Filter struct {
	Session string
	Call    string
	// Path selects one file, as Change.Path and Change.To name it.
	Path string
	// Limit bounds the number of changes or calls. Zero means all.
	Limit int
	// Workspace makes calls count changed lines; it has the contents that are not in the store.
	Workspace *workspace.Workspace
}

func (f Filter) takes(l *line) bool {
	return (f.Session == "" || l.Session == f.Session) && (f.Call == "" || l.Call == f.Call) &&
		(f.Path == "" || string(l.Path) == f.Path || string(l.To) == f.Path)
}

type history struct {
	lines   []*line // oldest first within a session
	notKept []*line
	// undoneBy maps a change's ID to the call that undid it.
	undoneBy map[string]callRef
	// undoes maps an undo to the changes that it undid.
	undoes map[callRef][]string
	byID   map[string]*line
	// cut are undos that were killed; parts are those of them that a later undo has completed, by that undo.
	cut   []*line
	parts map[callRef][]callRef
}

type callRef struct{ session, call string }

func (l *line) ref() callRef { return callRef{l.Session, l.Call} }

// newHistory finds which changes stand: those that no undo has undone. Only completed undos count.
func newHistory(lines []*line) *history {
	lines = withoutVoid(mergeSteps(lines))
	mix(lines)
	h := &history{undoneBy: make(map[string]callRef), undoes: make(map[callRef][]string), byID: make(map[string]*line),
		parts: make(map[callRef][]callRef)}
	ended := make(map[callRef]bool)
	for _, l := range lines {
		switch {
		case l.isChange():
			h.lines = append(h.lines, l)
			h.byID[l.ID] = l
		case l.Op == opNotKept:
			h.notKept = append(h.notKept, l)
		case l.Op == opDone:
			ended[l.ref()] = true
		}
	}
	last := make(map[string]string)
	for _, l := range lines { // ordered across sessions, keeping the order within each
		last[l.Session] = max(last[l.Session], l.ID)
		l.order = last[l.Session]
	}
	undos := slices.DeleteFunc(slices.Clone(lines), func(l *line) bool { return l.Op != opUndo })
	slices.SortStableFunc(undos, func(a, b *line) int { return cmp.Compare(a.order, b.order) })
	for _, l := range undos {
		h.addUndo(l, ended[l.ref()])
	}
	return h
}

// withoutVoid returns the lines without what is void: the lines of the same call before.
func withoutVoid(lines []*line) []*line {
	void := make(map[callRef]int)
	for i, l := range lines {
		if l.Op == opVoid {
			void[l.ref()] = i
		}
	}
	if len(void) == 0 {
		return lines
	}
	var stand []*line
	for i, l := range lines {
		if last, ok := void[l.ref()]; !ok || i > last || l.Op == opNotKept {
			stand = append(stand, l)
		}
	}
	return stand
}

// addUndo processes one undo: what an undone undo had undone stands again. An undo that was killed counts as having
// undone nothing: the next undo does the rest, and an undo of that one undoes both.
func (h *history) addUndo(l *line, ended bool) {
	h.undoes[l.ref()] = append(h.undoes[l.ref()], l.Of...)
	if !ended {
		h.cut = append(h.cut, l)
		return
	}
	for _, id := range l.Of {
		if !h.endsAfter(id, l) {
			h.undoneBy[id] = l.ref()
		}
	}
	h.turn(l.Of, false)
	h.cut = slices.DeleteFunc(h.cut, func(cut *line) bool {
		if !subset(cut.Of, l.Of) {
			return false
		}
		h.parts[l.ref()] = append(h.parts[l.ref()], cut.ref())
		return true
	})
}

// turn updates what the undos among the changes had undone: it stands again or, with undone set, is undone again. For
// undos among that it is the reverse, and so on.
func (h *history) turn(changes []string, undone bool) {
	turned := make(map[callRef]bool)
	for _, id := range changes {
		change := h.byID[id]
		if change == nil || turned[change.ref()] {
			continue
		}
		turned[change.ref()] = true
		for _, of := range h.undoes[change.ref()] {
			if !undone {
				delete(h.undoneBy, of)
			} else if !h.endsAfter(of, change) {
				h.undoneBy[of] = change.ref()
			}
		}
		h.turn(h.undoes[change.ref()], !undone)
	}
}

// endsAfter reports whether the call of a change ended after an undo of it, and not with what that had left: what it
// changed since was not undone.
func (h *history) endsAfter(id string, undo *line) bool {
	change := h.byID[id]
	return change != nil && change.ended > undo.ID && !slices.ContainsFunc(h.lines, func(l *line) bool {
		return l.ref() == undo.ref() && l.Path == change.Path && l.after().holds(change.after())
	})
}

func subset(some, others []string) bool {
	among := make(map[string]bool, len(others))
	for _, id := range others {
		among[id] = true
	}
	return !slices.ContainsFunc(some, func(id string) bool { return !among[id] })
}

func (h *history) change(v *storeDir, l *line) *Change {
	c := &Change{
		ID: l.ID, Time: l.Time, Session: l.Session, Call: l.Call, Step: l.Step, Tool: l.Tool,
		Kind: workspace.Kind(l.Op), Path: string(l.Path), To: string(l.To), Size: l.Size,
		Lost: l.Lost, UndoneBy: h.undoneBy[l.ID].call, line: l,
	}
	if c.Lost == "" && l.keepsContent() && !v.has(l.Hash) {
		c.Lost = errLost.Error()
	}
	return c
}

// keepsContent reports whether the line has an object.
func (l *line) keepsContent() bool {
	switch l.Op {
	case string(workspace.Replace), string(workspace.Delete):
		return l.Mode.IsRegular()
	case opBefore:
		return l.Exists && l.Mode.IsRegular() && l.Hash != ""
	}
	return false
}

// Changes returns recorded changes, newest first.
func (s *Store) Changes(ctx context.Context, filter Filter) ([]Change, error) {
	v, h, err := s.load(ctx)
	if err != nil || v == nil {
		return nil, err
	}
	defer v.close()
	var list []Change
	for _, l := range h.newestFirst() {
		if filter.takes(l) {
			list = append(list, *h.change(v, l))
			if len(list) == filter.Limit {
				break
			}
		}
	}
	return list, nil
}

// Calls returns the calls that changed anything, newest first.
func (s *Store) Calls(ctx context.Context, filter Filter) ([]CallInfo, error) {
	v, h, err := s.load(ctx)
	if err != nil || v == nil {
		return nil, err
	}
	defer v.close()
	calls := make(map[callRef]*CallInfo)
	var order []*CallInfo
	for _, l := range newestFirst(slices.Concat(h.lines, h.notKept)) {
		if !filter.takes(l) {
			continue
		}
		info := calls[l.ref()]
		if info == nil {
			if filter.Limit > 0 && len(order) == filter.Limit {
				continue
			}
			info = &CallInfo{Session: l.Session, Call: l.Call, Step: l.Step, Tool: l.Tool, Time: l.Time, Files: []string{}}
			for _, id := range h.undoes[l.ref()] {
				if undone := h.byID[id]; undone != nil && !slices.Contains(info.Undoes, undone.Call) {
					info.Undoes = append(info.Undoes, undone.Call)
				}
			}
			calls[l.ref()] = info
			order = append(order, info)
		}
		if l.Op == opNotKept {
			info.NotKept = l.Lost
			continue
		}
		info.add(h.change(v, l))
	}
	list := make([]CallInfo, len(order))
	compare, lines := &comparer{ws: filter.Workspace, storeDir: v}, map[callRef][]*line(nil)
	if filter.Workspace != nil {
		lines = h.byCall()
	}
	for i, info := range order {
		if filter.Workspace != nil {
			_, summary := compare.diff(changesOf(lines[callRef{info.Session, info.Call}]))
			info.Summary = &summary
		}
		slices.Sort(info.Files)
		info.Files = slices.Compact(info.Files)
		list[i] = *info
	}
	return list, nil
}

func (i *CallInfo) add(c *Change) {
	i.Files = append(i.Files, c.Path)
	if c.To != "" {
		i.Files = append(i.Files, c.To)
	}
	if c.Lost != "" {
		i.Lost++
	}
	if i.stands = i.stands || c.UndoneBy == ""; i.stands {
		i.UndoneBy = ""
	} else if i.UndoneBy == "" {
		i.UndoneBy = c.UndoneBy
	}
}

// newestFirst orders the lines of one session as written, and sessions by time.
func (h *history) newestFirst() []*line { return newestFirst(slices.Clone(h.lines)) }

func newestFirst(lines []*line) []*line {
	slices.Reverse(lines)
	slices.SortStableFunc(lines, func(a, b *line) int { return cmp.Compare(b.order, a.order) })
	return lines
}

// load reads the history of all sessions: one may have undone what another did. The directory is nil if nothing
// was ever recorded.
func (s *Store) load(ctx context.Context) (*storeDir, *history, error) {
	v, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, s.storeError("read", "", err)
	}
	lines, err := v.journal(ctx)
	if err != nil {
		v.close()
		return nil, nil, s.storeError("read", "", err)
	}
	return v, newHistory(lines), nil
}

// Selection is what to undo. The zero value is the last call of the session that changed something last.
type Selection struct {
	// Session is the session; by default the one with the last change, or with the named call, of which there
	// must be only one.
	Session string
	// Call is the call; by default the last one that stands and is not an undo.
	Call string
	// All selects every standing call of the session, without undos.
	All bool
	// To selects that call and all standing ones since it began, of all sessions, without undos.
	To string
	// Since selects every standing call since then, of all sessions unless one is named, without undos.
	Since time.Time
	// Paths restricts the changes to these files and those below these directories, named as in Change.Path.
	// "." is the workspace.
	Paths []string
	// Redo selects the last undo that stands instead, or with Call the one that undid that call.
	Redo bool
	// Skip leaves out files that were changed since or whose old content is not kept, instead of refusing.
	Skip bool
	// Ours restores files changed since by others, and removes or replaces those that are too large to keep. All else
	// that is replaced is recorded, and the undo can be undone.
	Ours bool

	back bool // of TakeBack
}

// pick returns the selected changes that stand, newest first.
func (h *history) pick(sel Selection) ([]*line, error) {
	var picked []*line
	undone := ""
	sel.Call = h.redone(sel)
	parts := h.partsOf(sel)
	for _, l := range h.newestFirst() {
		if !sel.takes(l) && !(parts[l.ref()] && sel.takesPath(l)) {
			continue
		}
		if by, ok := h.undoneBy[l.ID]; ok {
			undone = by.call
			continue
		}
		if (sel.Call == "" || sel.Redo) && !sel.wants(h.level(l.ref())) {
			continue
		}
		if sel.Session == "" && sel.Since.IsZero() {
			sel.Session = l.Session
		}
		if !sel.All && sel.Call == "" && sel.Since.IsZero() {
			sel.Call = l.Call
			parts = h.partsOf(sel)
		}
		picked = append(picked, l)
	}
	if len(picked) == 0 {
		return nil, h.nothingError(sel, undone)
	}
	return picked, nil
}

// resolve finds the named call, and the start of what is taken back.
func (h *history) resolve(sel *Selection) error {
	name := cmp.Or(sel.Call, sel.To)
	if name == "" {
		return nil
	}
	var sessions []string
	var began time.Time
	for _, l := range slices.Concat(h.lines, h.notKept) {
		if l.Call != name || sel.Session != "" && l.Session != sel.Session {
			continue
		}
		if !slices.Contains(sessions, l.Session) {
			sessions = append(sessions, l.Session)
		}
		if began.IsZero() || l.Time.Before(began) {
			began = l.Time
		}
	}
	switch {
	case len(sessions) > 1:
		return AmbiguousCall(name, sessions)
	case sel.To != "" && began.IsZero():
		return nothingError(Selection{Session: sel.Session, Call: sel.To}, "")
	case sel.To != "":
		sel.Since, sel.Session = began, ""
	case len(sessions) == 1:
		sel.Session = sessions[0]
	}
	return nil
}

// AmbiguousCall returns the error for a name that calls of several sessions have.
func AmbiguousCall(name string, sessions []string) error {
	return tool.Errorf(tool.InvalidArgument, "calls of several sessions are named %s: %s", name,
		strings.Join(sessions, ", ")).
		Suggest("Say which session is meant, with --session.").With("sessions", sessions)
}

// takes reports whether a change is selected, standing or not.
func (s Selection) takes(l *line) bool {
	if s.Session != "" && l.Session != s.Session || s.Call != "" && l.Call != s.Call || l.Time.Before(s.Since) {
		return false
	}
	return s.takesPath(l)
}

func (s Selection) takesPath(l *line) bool {
	return len(s.Paths) == 0 || slices.ContainsFunc(s.Paths, func(dir string) bool {
		return isWithin(string(l.Path), dir) || l.To != "" && isWithin(string(l.To), dir)
	})
}

// isWithin reports whether a path is dir or below it; "." is the workspace.
func isWithin(path, dir string) bool {
	if dir == "." {
		return !filepath.IsAbs(path)
	}
	_, ok := within(path, dir)
	return ok
}

// partsOf returns the killed undos that the selected undo has completed: they are undone with it.
func (h *history) partsOf(sel Selection) map[callRef]bool {
	parts := make(map[callRef]bool)
	for whole, cut := range h.parts {
		if whole.call == sel.Call && (sel.Session == "" || sel.Session == whole.session) {
			for _, ref := range cut {
				parts[ref] = true
			}
		}
	}
	return parts
}

// level returns 0 for a call, 1 for what undid it, 2 for what redid it, and so on.
func (h *history) level(ref callRef) int {
	for level := 0; ; level++ {
		ids := h.undoes[ref]
		if len(ids) == 0 || h.byID[ids[0]] == nil || level > len(h.undoes) {
			return level + min(len(ids), 1)
		}
		ref = h.byID[ids[0]].ref()
	}
}

// wants selects calls by level if none is named.
func (s Selection) wants(level int) bool {
	if s.Redo {
		return level%2 == 1
	}
	return level == 0
}

// notKeptBy returns by call what cannot be undone of the picked ones, and, if no call is named, of those after the
// oldest of them.
func (h *history) notKeptBy(sel Selection, picked []*line) map[string]string {
	refs := make(map[callRef]bool)
	for _, l := range picked {
		refs[l.ref()] = true
	}
	if sel.Session == "" && sel.Since.IsZero() {
		sel.Session = picked[0].Session
	}
	oldest := picked[len(picked)-1].order
	notKept := make(map[string]string)
	for _, l := range h.notKept {
		if refs[l.ref()] || sel.Call == "" && !sel.Redo && l.order > oldest && sel.takes(l) {
			notKept[l.Call] = l.Lost
		}
	}
	return notKept
}

// nothingError returns the error for a selection without a standing change.
func (h *history) nothingError(sel Selection, undone string) error {
	for _, l := range h.notKept {
		if sel.Call != "" && !sel.Redo && undone == "" && l.Call == sel.Call && sel.takes(l) {
			return tool.Errorf(tool.NotFound, "nothing that the call %s changed was kept. %s", l.Call, l.Lost).
				Suggest("Bring back by hand what it changed. docs/RECORD.md says what is kept, and when.")
		}
	}
	return nothingError(sel, undone)
}

func nothingError(sel Selection, undone string) error {
	where := "the workspace"
	if sel.Session != "" {
		where = "session " + sel.Session
	}
	if sel.Redo && sel.Call != "" && undone == "" {
		return tool.Errorf(tool.NoChange, "no undo of the call %s in %s is in effect", sel.Call, where).
			Suggest("List the calls and what has undone them.")
	}
	if sel.Call != "" && undone != "" {
		return tool.Errorf(tool.NoChange, "the call %s in %s is undone already, by %s", sel.Call, where, undone).
			Suggest("Undo %s to have the changes again.", undone)
	}
	if sel.Call != "" {
		return tool.Errorf(tool.NotFound, "no change by a call %s is recorded in %s", sel.Call, where).
			Suggest("List the changes with toolhost log --changed.")
	}
	if sel.Redo {
		return tool.Errorf(tool.NotFound, "no undo is in effect in %s, so there is nothing to redo", where).
			Suggest("toolhost log lists the calls and what has undone them.")
	}
	return tool.Errorf(tool.NotFound, "nothing that can be undone is recorded in %s", where).
		Suggest("toolhost log lists the calls. Old changes are dropped, and commands without a sandbox are not watched.")
}
