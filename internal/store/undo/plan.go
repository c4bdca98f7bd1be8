package undo

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// Plan is what an undo will do.
type Plan struct {
	Session string `json:"session"`
	// Calls are the calls to undo, newest first.
	Calls []string `json:"calls"`
	// Redone are the calls that stand again after a redo, newest first.
	Redone []string `json:"redone,omitempty"`
	// Files are the paths that will change, sorted.
	Files   []string       `json:"files"`
	Summary change.Summary `json:"summary"`
	// Preview is for people: unified diffs, and lines on other effects.
	Preview string `json:"preview,omitempty"`
	// Skipped are changes left out, because their content is not kept or the file was changed since. Lost says
	// which.
	Skipped []Change `json:"skipped,omitempty"`
	// Over are the files changed since by others that are replaced.
	Over []string `json:"over,omitempty"`
	// Special are pipes, sockets and devices, whose content is not kept.
	Special []Special `json:"special,omitempty"`
	// Unkept are files that are removed or replaced and too large to keep, so that a redo has not their content.
	Unkept []string `json:"unkept,omitempty"`
	// Unlisted are files and directories restored without their access control list. Their group has what the
	// list granted it.
	Unlisted []string `json:"unlisted,omitempty"`
	// NotKept has, by call, what else the calls changed that cannot be undone.
	NotKept map[string]string `json:"not_kept,omitempty"`
}

// Special is a pipe, socket or device that stays where it is, or is moved away for what is restored.
type Special struct {
	Path string `json:"path"`
	To   string `json:"to,omitempty"`
}

// Plan returns what Undo would do, without changing anything. Errors are those of Undo.
func (s *Store) Plan(ctx context.Context, ws *workspace.Workspace, sel Selection) (*Plan, error) {
	v, h, err := s.loadFor(ctx, sel)
	if err != nil {
		return nil, err
	}
	defer v.close()
	p, err := s.plan(ctx, v, h, ws, sel)
	if err != nil {
		return nil, err
	}
	return p.public(), nil
}

// loadFor returns the history that sel needs; an empty one is an error.
func (s *Store) loadFor(ctx context.Context, sel Selection) (*storeDir, *history, error) {
	v, h, err := s.load(ctx)
	if err == nil && v == nil {
		err = nothingError(sel, "")
	}
	return v, h, err
}

type planner struct {
	store    *Store
	storeDir *storeDir
	history  *history
	sel      Selection
	view     *view
	lines    []*line
	ops      []op
	skipped  []Change
	lost     []Change
	problems []problem
	held     []string
	notKept  map[string]string
	left     map[string]bool  // paths left as they are
	picked   map[*line]bool   // selected changes
	passed   map[*line]string // the first change undone of those that one is mixed with
	cut      map[string]bool  // IDs of changes that a killed undo was about to undo
	byPath   map[pathName][]*line
	over     []string
	unkept   []string          // files removed or replaced for good
	lostOf   map[sizeOf]string // with Skip, a file whose content is lost, by its call and size
	special  []Special
	unlisted []string // restored without their access control lists
}

type sizeOf struct {
	call callRef
	size int64
}

type problem struct {
	line   *line
	path   string
	what   string
	wanted state // what undo would have restored
}

func (s *Store) plan(ctx context.Context, v *storeDir, h *history, ws *workspace.Workspace, sel Selection) (*planner,
	error) {
	if err := h.resolve(&sel); err != nil {
		return nil, err
	}
	lines, err := h.pick(sel)
	if err != nil {
		return nil, err
	}
	p := &planner{
		store: s, storeDir: v, history: h, sel: sel, lines: slices.Clone(lines),
		view:    &view{ctx: ctx, ws: ws, entries: make(map[string]*entry), links: make(map[string]bool)},
		left:    make(map[string]bool),
		notKept: h.notKeptBy(sel, lines),
		picked:  make(map[*line]bool), passed: make(map[*line]string),
		cut: make(map[string]bool), byPath: make(map[pathName][]*line), lostOf: make(map[sizeOf]string),
	}
	for _, l := range lines {
		p.picked[l] = true
		p.byPath[l.Path] = append(p.byPath[l.Path], l)
		if sel.Skip && l.Size > 0 && p.gone(l) {
			p.lostOf[sizeOf{l.ref(), l.Size}] = string(l.Path)
		}
	}
	for _, undo := range h.cut {
		for _, id := range undo.Of {
			p.cut[id] = true
		}
	}
	for _, l := range lines {
		if err := ctx.Err(); err != nil {
			return nil, tool.Errorf(tool.Cancelled, "the undo was cancelled: %w", err).Suggest("Nothing was changed.")
		}
		if err := p.undo(l); err != nil {
			return nil, err
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if len(p.lines) == 0 {
		return nil, p.allLeft()
	}
	return p, p.failure()
}

// finish plans the remaining operations.
func (p *planner) finish() error {
	for range 2 { // what had to wait is planned in the second round
		if err := p.flush(); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(p.view.entries)) {
		e := p.view.entries[path]
		moved := slices.ContainsFunc(p.special, func(s Special) bool { return s.To == path })
		if e.want.special() && !moved {
			p.special = append(p.special, Special{Path: path})
		}
		if lines := p.byPath[pathName(path)]; len(lines) > 0 && p.waits(path) && len(e.ops(path)) > 0 {
			p.conflict(lines[0], path, "has something in its way that is not a directory", state{})
		}
	}
	return nil
}

// entryAt returns the entry of a path, nil if it cannot be read, which is a conflict.
func (p *planner) entryAt(l *line, path string) (*entry, error) {
	e, err := p.view.at(path)
	if tool.CodeOf(err) == tool.PermissionDenied {
		p.conflict(l, path, "cannot be looked at: "+tool.AsError(err).Message, state{})
		return nil, nil
	}
	return e, err
}

// setAside moves a pipe, socket or device away for what is restored.
func (p *planner) setAside(path string) (*entry, error) {
	for n := 1; ; n++ {
		to := path + ".left"
		if n > 1 {
			to += strconv.Itoa(n)
		}
		e, err := p.view.at(to)
		if err != nil {
			return nil, err
		}
		if e.base.exists || e.want.exists {
			continue
		}
		if err := p.flush(); err != nil {
			return nil, err
		}
		open, lock, err := p.openAbove(path, make(map[string]bool))
		if err != nil {
			return nil, err
		}
		slices.Reverse(open) // deepest last
		p.ops = slices.Concat(p.ops, open, []op{{kind: opRename, path: path, to: to}}, lock)
		p.view.setAside(path, to)
		p.special = append(p.special, Special{path, to})
		return p.view.at(path)
	}
}

// allLeft returns the error if everything is left out.
func (p *planner) allLeft() error {
	paths := make([]string, len(p.skipped))
	for i, c := range p.skipped {
		paths[i] = c.Path
	}
	return tool.Errorf(tool.NoChange, "nothing is left to undo: %s was changed since",
		strings.Join(paths, ", ")).
		Suggest("Bring the files back by hand, or also replace the later changes (--ours), which can be undone.").
		With("paths", paths)
}

func (p *planner) undo(l *line) error {
	if p.left[string(l.Path)] || p.left[string(l.To)] {
		p.leave(l, string(l.Path), "a later change of it stays")
		return nil
	}
	if p.holds(l) {
		return nil
	}
	switch workspace.Kind(l.Op) {
	case workspace.Rename:
		return p.rename(l)
	case workspace.Chmod:
		return p.chmod(l)
	case workspace.Mkdir:
		return p.mkdir(l)
	case workspace.Create, workspace.Replace, workspace.Delete:
		return p.content(l)
	}
	return nil // of a later version
}

func (p *planner) conflict(l *line, path, what string, wanted state) {
	if p.sel.Skip {
		p.leave(l, path, what)
		return
	}
	p.problems = append(p.problems, problem{l, path, what, wanted})
}

// leave keeps a path as it is, whatever older changes it has.
func (p *planner) leave(l *line, path, why string) {
	left := *p.history.change(p.storeDir, l)
	left.Lost = why
	p.skipped = append(p.skipped, left)
	p.lines = slices.DeleteFunc(p.lines, func(other *line) bool { return other == l })
	p.left[path], p.left[string(l.Path)] = true, true
	if l.To != "" {
		p.left[string(l.To)] = true
	}
}

// replaces reports whether the path's present state is replaced although changed since.
func (p *planner) replaces(path string) bool {
	if p.sel.Ours && !slices.Contains(p.over, path) {
		p.over = append(p.over, path)
	}
	return p.sel.Ours
}

func (p *planner) content(l *line) error {
	path := string(l.Path)
	e, err := p.entryAt(l, path)
	if e == nil {
		return err
	}
	before := l.before()
	if e.want.special() && !before.exists {
		p.pass(l)
		return nil // it stays
	}
	switch {
	case p.passed[l] != "" && p.passed[l] < l.ID: // what it found was on the way already
		p.pass(l)
		return nil
	case p.gone(l) && l.Op == string(workspace.Replace) && l.after().holds(before): // looks as before, by size and time
		p.drop(l)
		return nil
	case e.want.holds(before) && (!l.unended || !e.want.exists || e.want.mode.Perm() == before.mode.Perm()):
		if p.cut[l.ID] && l.Op == string(workspace.Delete) && !e.want.isLink() {
			e.want.mode = l.Mode // the killed undo may not have come so far
		}
		if e.want.regular() && changesMode(l) && l.Op == string(workspace.Replace) &&
			e.want.mode.Perm() == l.NewMode.Perm() {
			e.want.mode = l.Mode
		}
		return nil
	case p.halfUndone(l, e):
		return nil
	case p.gone(l):
		p.drop(l)
		return nil
	case p.lostOf[sizeOf{l.ref(), e.want.size}] != "" && e.want.regular():
		p.leave(l, path, "may have what "+p.lostOf[sizeOf{l.ref(), e.want.size}]+" had, which is not kept")
		return nil
	case p.unsure(l) != "":
		if !p.replaces(path) {
			p.conflict(l, path, p.unsure(l), before)
			return nil
		}
	case p.passed[l] != "", e.want.special(), e.want.holds(l.lastOfMixed().after()):
	case e.want.isDir() || before.isDir() && e.want.exists, !p.replaces(path):
		p.conflict(l, path, "has changed since", before)
		return nil
	}
	if e.want.regular() && e.want.info != nil && e.want.size > p.store.options.MaxFile && !p.sel.back {
		if !p.sel.Ours {
			p.conflict(l, path, fmt.Sprintf("has %d bytes, "+tooLarge, e.want.size), before)
			return nil
		}
		p.unkept = append(p.unkept, path)
	}
	p.pass(l)
	switch {
	case e.want.special():
		if e, err = p.setAside(path); err != nil {
			return err
		}
	case e.base.isDir() != before.isDir() && e.base.exists && before.exists:
		e.want = state{}
		if err := p.flush(); err != nil { // the existing one must be removed first
			return err
		}
		e = p.view.entries[path]
	}
	if before.exists && e.want.exists && !changesMode(l) && !l.unended {
		before.mode = before.mode.Type() | e.want.mode.Perm()
	}
	e.want = before
	return nil
}

// tooLarge ends why undo does not remove or replace a file.
const tooLarge = "too many to keep"

// gone reports whether the old content of a change is not kept.
func (p *planner) gone(l *line) bool {
	return l.keepsContent() && (l.Lost != "" || !p.storeDir.has(l.Hash))
}

// changesMode reports whether the change includes the mode. The mode after it is not always known.
func changesMode(l *line) bool {
	return (l.NewMode != 0 || l.ended != "") && l.NewMode.Perm() != l.Mode.Perm()
}

// halfUndone reports whether a killed undo restored an older state of the path than this change's.
func (p *planner) halfUndone(l *line, e *entry) bool {
	return p.cut[l.ID] && slices.ContainsFunc(p.byPath[l.Path], func(older *line) bool {
		return older.ID < l.ID && p.cut[older.ID] && e.want.holds(older.before())
	})
}

func (p *planner) drop(l *line) {
	c := *p.history.change(p.storeDir, l)
	if p.sel.Skip {
		p.skipped = append(p.skipped, c)
	} else {
		p.lost = append(p.lost, c)
	}
}

func (p *planner) chmod(l *line) error {
	path := string(l.Path)
	e, err := p.entryAt(l, path)
	if e == nil {
		return err
	}
	switch {
	case !e.want.exists:
		p.conflict(l, path, "is gone", state{})
	case e.want.mode.Type() != l.Mode.Type():
		p.conflict(l, path, "is something else now", state{})
	case e.want.mode.Perm() == l.Mode.Perm():
	case e.want.mode.Perm() != l.NewMode.Perm() && !p.replaces(path):
		p.conflict(l, path, "has another mode since", state{})
	default:
		e.want.mode = l.Mode
	}
	return nil
}

func (p *planner) mkdir(l *line) error {
	path := string(l.Path)
	e, err := p.entryAt(l, path)
	switch {
	case e == nil:
		return err
	case !e.want.exists, p.halfUndone(l, e):
	case !e.want.isDir():
		p.conflict(l, path, "is no longer a directory", state{})
	default:
		e.want = state{}
	}
	return nil
}

func (p *planner) rename(l *line) error {
	from, to := string(l.Path), string(l.To)
	old, err := p.entryAt(l, from)
	if old == nil {
		return err
	}
	now, err := p.entryAt(l, to)
	if now == nil {
		return err
	}
	caseOnly := old.want.info != nil && now.want.info != nil && os.SameFile(old.want.info, now.want.info) &&
		old.want.mode.Type() != fs.ModeSymlink
	switch {
	case old.want.exists && !now.want.exists:
		return nil // it never happened
	case !now.want.exists:
		p.conflict(l, to, "is gone", state{})
		return nil
	case old.want.exists && !caseOnly:
		p.conflict(l, from, "is there again", state{})
		return nil
	case now.want.mode.Type() != l.Mode.Type():
		p.conflict(l, to, "is something else now", state{})
		return nil
	case l.Mode.IsRegular() && !now.want.holds(l.moved()) && !p.replaces(to):
		p.conflict(l, to, "has changed since it was renamed", state{})
		return nil
	}
	if err := p.flush(); err != nil {
		return err
	}
	p.ops = append(p.ops, op{kind: opRename, path: to, to: from})
	p.view.move(to, from)
	return nil
}

// flush turns the wanted states into operations.
func (p *planner) flush() error {
	// Directories to open, modes that something else needs, directories, files, symlinks, files in their place,
	// removed directories, and modes that prevent something else: of directories closed to their owner, and of
	// files with further names to remove.
	var groups [8][]op
	var flushed []*entry
	opened := make(map[string]bool)
	for _, path := range slices.Sorted(maps.Keys(p.view.entries)) {
		e := p.view.entries[path]
		if p.waits(path) {
			continue
		}
		p.withoutList(path, e)
		ops := e.ops(path)
		for _, o := range ops {
			group := map[opKind]int{opChmod: 1, opMkdir: 2, opFile: 3, opSymlink: 4, opFileLate: 5, opRmdir: 6}[o.kind]
			if o.kind == opChmod && (o.want.isDir() && !o.want.unlocked() || o.want.regular() && len(ops) == 1) {
				group = 7
			}
			groups[group] = append(groups[group], o)
			open, lock, err := p.openAbove(path, opened)
			if err != nil {
				return err
			}
			groups[0], groups[7] = append(groups[0], open...), append(groups[7], lock...)
		}
		flushed = append(flushed, e)
	}
	for _, e := range flushed {
		e.base = e.want
	}
	slices.SortFunc(groups[0], func(a, b op) int { return strings.Compare(a.path, b.path) })
	slices.Reverse(groups[6]) // deepest first
	slices.SortFunc(groups[7], func(a, b op) int { return strings.Compare(b.path, a.path) })
	p.ops = append(p.ops, slices.Concat(groups[:]...)...)
	return nil
}

// withoutList sets the mode without access control list if the list is gone: its group bits would be the list's
// mask.
func (p *planner) withoutList(path string, e *entry) {
	if e.want.plain == nil || e.base.exists && e.base.mode.Type() == e.want.mode.Type() && p.view.ws.HasAccessList(path) {
		return
	}
	e.want.mode = e.want.mode.Type() | e.want.plain.Perm()
	p.unlisted = append(p.unlisted, path)
}

// openAbove opens the directories above a path to their owner, and locks them again if they are to stay locked.
// done has those already handled.
func (p *planner) openAbove(path string, done map[string]bool) (open, lock []op, err error) {
	for dir := filepath.Dir(path); dir != "." && dir != "/" && !done[dir]; dir = filepath.Dir(dir) {
		done[dir] = true
		e, err := p.view.at(dir)
		if tool.CodeOf(err) == tool.PathOutsideWorkspace {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if !e.base.isDir() || e.base.unlocked() || e.want.unlocked() {
			continue
		}
		opening := op{kind: opChmod, path: dir, base: e.base, want: e.base}
		opening.want.mode |= 0o700
		open = append(open, opening)
		if e.want.holds(e.base) && e.want.mode.Perm() == e.base.mode.Perm() {
			lock = append(lock, op{kind: opChmod, path: dir, base: opening.want, want: e.want})
		}
	}
	return open, lock, nil
}

// waits reports whether something must be removed from a directory of the path before anything can be made in
// it.
func (p *planner) waits(path string) bool {
	for dir := filepath.Dir(path); dir != "." && dir != "/"; dir = filepath.Dir(dir) {
		e := p.view.entries[dir]
		if e != nil && e.base.exists && !e.base.isDir() && (!e.want.exists || e.want.isDir() || e.base.special()) {
			return true
		}
	}
	return false
}

// ops returns the operations that bring the entry to its wanted state.
func (e *entry) ops(path string) []op {
	o := op{path: path, base: e.base, want: e.want}
	away := op{kind: opFile, path: path, base: e.base}
	gone := o
	gone.base = state{}
	var opening []op
	if e.base.regular() && e.base.mode.Perm()&0o400 == 0 {
		open := o.as(opChmod) // to be read
		open.want = e.base
		open.want.mode |= 0o400
		opening = []op{open}
	}
	switch {
	case e.want.holds(e.base):
		if e.want.exists && !e.want.isLink() && e.want.mode.Perm() != e.base.mode.Perm() {
			return []op{o.as(opChmod)}
		}
		return nil
	case e.base.isDir():
		return []op{o.as(opRmdir)} // nothing else is wanted before the next flush
	case e.want.isDir() && !e.want.unlocked():
		made := o
		made.want.mode |= 0o700
		return []op{made.as(opMkdir), o.as(opChmod)}
	case e.want.isDir():
		return []op{o.as(opMkdir)}
	case e.want.isLink() && e.base.exists:
		return append(opening, away, gone.as(opSymlink))
	case e.want.isLink():
		return []op{o.as(opSymlink)}
	case e.want.exists && e.base.isLink():
		return []op{away, gone.as(opFileLate)}
	}
	return append(opening, o.as(opFile))
}

// failure returns the error if not all can be undone.
func (p *planner) failure() error {
	if len(p.held) > 0 {
		return p.heldError()
	}
	if len(p.problems) > 0 {
		return p.conflictError()
	}
	if len(p.lost) > 0 {
		return p.lostError()
	}
	return nil
}

func (p *planner) lostError() error {
	var found reasons
	for _, c := range p.lost {
		found.add(c.Path, c.Lost)
	}
	return tool.Errorf(tool.Unavailable, "cannot undo %s: the old content of %s was not kept", p.callNames(),
		found.list("%s (%s)", ", ")).
		Suggest("Undo the rest without these files (--skip), or take them from version control.").With("paths", found.paths())
}

func (p *planner) calls() []string {
	var calls []string
	for _, l := range p.lines {
		if !slices.Contains(calls, l.Call) {
			calls = append(calls, l.Call)
		}
	}
	return calls
}

func (p *planner) callNames() string {
	if p.sel.All {
		return "session " + p.lines[0].Session
	}
	return "the call " + strings.Join(p.calls(), ", ")
}

func (p *planner) public() *Plan {
	plan := &Plan{Session: p.lines[0].Session, Calls: p.calls(), Files: []string{}, Skipped: p.skipped, Over: p.over,
		Unkept: p.unkept, Special: p.special, Unlisted: p.unlisted, NotKept: p.notKept}
	if p.sel.Redo {
		plan.Redone = p.history.redoneCalls(p.lines)
	}
	for _, o := range p.ops {
		plan.Files = append(plan.Files, o.path)
		if o.kind == opRename {
			plan.Files = append(plan.Files, o.to)
		}
	}
	slices.Sort(plan.Files)
	plan.Files = slices.Compact(plan.Files)
	plan.Preview = p.preview()
	plan.Summary.Paths = len(plan.Files)
	plan.Summary.CountDiff(plan.Preview)
	return plan
}
