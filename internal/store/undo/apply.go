package undo

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

type opKind int

const (
	opFile     opKind = iota // create, replace or delete, in a batch
	opFileLate               // create where a symlink must be removed first
	opRename
	opMkdir
	opRmdir
	opSymlink
	opChmod
)

type op struct {
	kind       opKind
	path, to   string
	base, want state
}

func (o op) as(kind opKind) op {
	o.kind = kind
	return o
}

// maxBatch bounds the content held in memory for one batch, in bytes.
const maxBatch = 256 << 20

// Outcome is what an undo did.
type Outcome struct {
	Plan
	// Call names the undo itself: undoing that call is the redo. It is empty if there was nothing to do.
	Call string `json:"call,omitempty"`
	// Left are directories that stay because they contain other files.
	Left []string `json:"left,omitempty"`
}

// Undo takes back the selected changes. ws must be a workspace on the store's root, opened with a recorder of
// the store, so that the undo can be undone.
//
// All is done or nothing: files in one batch unless renames, links and modes come between; if a later step
// fails, the earlier ones are taken back. After a kill between two steps, what was done is recorded and can be
// undone.
//
// Errors: not_found if nothing is recorded, no_change if it is undone already, conflict if a file is no longer
// what the change left (the message names it and shows a diff, which is also the detail "diff"), unavailable if
// an old content is not kept, and those of the workspace.
func (s *Store) Undo(ctx context.Context, ws *workspace.Workspace, sel Selection) (*Outcome, error) {
	v, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nothingError(sel, "")
	}
	if err != nil {
		return nil, s.storeError("undo", "", err)
	}
	defer v.close()
	unlock, _, err := v.lock(ctx, undoLock, true, lockWait)
	if err != nil {
		return nil, s.storeError("undo", "", err)
	}
	defer unlock()
	// No content may be pruned meanwhile.
	release, _, err := v.lock(ctx, contentLock, false, lockWait)
	if err != nil {
		return nil, s.storeError("undo", "", err)
	}
	defer release()
	return s.undo(ctx, v, ws, sel, true)
}

// TakeBack undoes a call that failed, as if it had changed nothing: neither it nor this undo is one that can be undone.
func (s *Store) TakeBack(ctx context.Context, ws *workspace.Workspace, call Call) error {
	_, err := s.Undo(ctx, ws, Selection{Session: call.Session, Call: call.ID, back: true})
	return err
}

// undo runs under the locks, and takes back half an undo if takeBack is set.
func (s *Store) undo(ctx context.Context, v *storeDir, ws *workspace.Workspace, sel Selection, takeBack bool) (*Outcome,
	error) {
	lines, err := v.journal(ctx)
	if err != nil {
		return nil, s.storeError("read", "", err)
	}
	p, err := s.plan(ctx, v, newHistory(lines), ws, sel)
	if err != nil {
		return nil, err
	}
	completes := slices.ContainsFunc(p.lines, func(l *line) bool { return p.cut[l.ID] }) // completes a killed undo
	if len(p.ops) == 0 && !completes {
		return &Outcome{Plan: *p.public()}, nil
	}
	call := Call{Session: p.lines[0].Session, ID: s.options.CallID(), Tool: "undo"}
	out := &Outcome{Plan: *p.public(), Call: call.ID}
	intent := s.newLine(call, opUndo)
	for _, l := range p.lines {
		intent.Of = append(intent.Of, l.ID)
	}
	if _, err := s.append(v, intent); err != nil {
		return nil, s.storeError("record the undo", "", err)
	}
	a := &applier{planner: p, ws: ws.Restoring().WithContext(WithCall(ctx, call)), ctx: WithCall(ctx, call)}
	if err := a.run(); err != nil {
		return nil, s.fail(ctx, v, ws, call, a.done, takeBack, err)
	}
	out.Left = a.left
	_, err = s.append(v, s.newLine(call, opDone))
	if err == nil && sel.back {
		err = errors.Join(s.void(v, call), s.void(v, Call{Session: call.Session, ID: sel.Call}))
	}
	return out, s.storeError("record the undo", "", err)
}

// void notes that nothing of what a call has recorded so far was done, or that it was taken back.
func (s *Store) void(v *storeDir, call Call) error {
	_, err := s.append(v, s.newLine(call, opVoid))
	return err
}

// fail takes back what was done before err.
func (s *Store) fail(ctx context.Context, v *storeDir, ws *workspace.Workspace, call Call, done int, takeBack bool,
	err error) error {
	if done == 0 {
		if voidErr := s.void(v, call); voidErr != nil {
			s.options.Logger.WarnContext(ctx, "a failed undo was not noted", "error", voidErr)
		}
		return err
	}
	e := tool.AsError(err)
	if takeBack {
		_, backErr := s.undo(context.WithoutCancel(ctx), v, ws, Selection{Session: call.Session, Call: call.ID}, false)
		if backErr == nil {
			return e
		}
		s.options.Logger.WarnContext(ctx, "half an undo was not taken back", "error", backErr)
	}
	return tool.Errorf(e.Code, "the undo stopped half-way: %w", err).
		Suggest("Undo the call %s to take back the half that was done.", call.ID).With("call", call.ID)
}

type applier struct {
	*planner
	ws   *workspace.Workspace
	ctx  context.Context
	done int // operations
	left []string
}

func (a *applier) run() error {
	for i := 0; i < len(a.ops); {
		n := 1
		if kind := a.ops[i].kind; kind == opFile || kind == opFileLate {
			for n = 0; i+n < len(a.ops) && a.ops[i+n].kind == kind; {
				n++
			}
			if err := a.files(a.ops[i : i+n]); err != nil {
				return err
			}
		} else if err := a.single(a.ops[i]); err != nil {
			return err
		}
		i += n
	}
	return nil
}

func (a *applier) single(o op) error {
	var err error
	switch o.kind {
	case opRename:
		err = a.ws.Rename(o.path, o.to, false)
	case opMkdir:
		if _, err = a.ws.Mkdir(o.path, true); err == nil {
			a.done++
			err = a.mode(o)
		}
	case opSymlink:
		err = a.ws.Symlink(o.want.link, o.path)
	case opChmod:
		err = a.ws.Chmod(o.path, o.want.mode)
	case opRmdir:
		err = a.ws.RemoveDir(o.path)
		if tool.CodeOf(err) == tool.Conflict {
			a.left = append(a.left, o.path)
			return nil
		}
	}
	if err == nil {
		a.done++
	}
	return err
}

// files does file operations, in one batch unless they are too large for that.
func (a *applier) files(ops []op) error {
	for len(ops) > 0 {
		var changes []workspace.Change
		size, n := 0, 0
		for n < len(ops) && (n == 0 || size < maxBatch) {
			c, err := a.change(ops[n])
			if err != nil {
				return err
			}
			size += len(c.Data)
			changes = append(changes, c)
			n++
		}
		if err := a.ws.Batch(a.ctx, changes); err != nil {
			return err
		}
		a.done++
		for _, o := range ops[:n] {
			if err := a.mode(o); err != nil {
				return err
			}
		}
		ops = ops[n:]
	}
	return nil
}

func (a *applier) change(o op) (workspace.Change, error) {
	c := workspace.Change{Kind: workspace.Delete, Path: o.path}
	if o.base.regular() || o.base.isLink() {
		c.Expect = o.base.hash
	}
	if !o.want.exists {
		return c, nil
	}
	data, err := a.storeDir.get(o.want.hash)
	if err != nil {
		return c, tool.Errorf(tool.Unavailable, "cannot bring back %s: %w", o.path, err).
			Suggest("Undo the rest without this file, or take it from version control.").With("path", o.path)
	}
	c.Kind, c.Data, c.Mode = workspace.Replace, data, o.want.mode.Perm()
	if !o.base.exists {
		c.Kind = workspace.Create
	}
	return c, nil
}

// mode restores the mode, which the umask may have changed.
func (a *applier) mode(o op) error {
	if !o.want.exists || o.want.isLink() {
		return nil
	}
	info, err := a.ws.Lstat(o.path)
	if err != nil || info.Mode().Perm() == o.want.mode.Perm() || info.Mode()&fs.ModeSymlink != 0 {
		return err
	}
	return a.ws.Chmod(o.path, o.want.mode)
}
