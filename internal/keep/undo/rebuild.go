package undo

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
)

// Rebuild makes of ws, which is a copy of the workspace that is open without a
// recorder, what the workspace was at that time: it takes back every change
// since then, of all sessions, undos included. The store is not changed.
//
// The error says why that cannot be: what a call left is not what is there now,
// an old content is no longer kept, or something changed outside the workspace.
func (s *Store) Rebuild(ctx context.Context, ws *workspace.Workspace, since time.Time) (*Plan, error) {
	v, h, err := s.load(ctx)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return &Plan{Calls: []string{}, Files: []string{}}, nil
	}
	defer v.close()
	var lines []*line
	for _, l := range h.newestFirst() {
		if l.Time.Before(since) {
			continue
		}
		if filepath.IsAbs(string(l.Path)) {
			return nil, notRebuilt(string(l.Path) + ", which lies outside of the workspace, was changed by the call " +
				l.Call)
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		return &Plan{Calls: []string{}, Files: []string{}}, nil
	}
	p, err := s.foldBack(ctx, v, h, ws, lines)
	if err != nil {
		return nil, err
	}
	a := &applier{planner: p, ws: ws.Restoring().WithContext(ctx), ctx: ctx}
	if err := a.run(); err != nil {
		return nil, err
	}
	return p.public(), nil
}

// foldBack plans to take back lines, the newest first.
func (s *Store) foldBack(ctx context.Context, v *vault, h *history, ws *workspace.Workspace,
	lines []*line) (*planner, error) {
	p := &planner{store: s, vault: v, history: h, lines: slices.Clone(lines),
		view:   &view{ctx: ctx, ws: ws, entries: make(map[string]*entry), links: make(map[string]bool)},
		left:   make(map[string]bool),
		picked: make(map[*line]bool), passed: make(map[*line]string)}
	for _, l := range lines {
		p.picked[l] = true
	}
	for _, l := range lines {
		if err := ctx.Err(); err != nil {
			return nil, tool.AsError(err)
		}
		if err := p.undo(l); err != nil {
			return nil, err
		}
	}
	p.flush()
	p.flush() // what had to wait
	var why []string
	told := make(map[string]bool)
	for _, c := range p.problems {
		if told[c.path] {
			continue // the later change says it
		}
		told[c.path] = true
		why = append(why, c.path+" "+c.what+" (it was changed by the call "+c.line.Call+")")
	}
	for _, c := range p.lost {
		why = append(why, c.Path+": "+c.Lost)
	}
	if len(why) > 0 {
		return nil, notRebuilt(strings.Join(why, "; "))
	}
	return p, nil
}

func notRebuilt(why string) error {
	return tool.Errorf(tool.Conflict, "the workspace cannot be rebuilt as it was then: %s", why).
		Suggest("Bring the files back to what the last call left, or replay a session that nobody has changed since.")
}

// PathName is the name of a file, any bytes; its JSON keeps them.
type PathName = pathName

// Left is what a change left at a path.
type Left struct {
	Session string `json:"-"`
	Call    string `json:"-"`
	// Path was changed. To is where it went, for a rename.
	Path PathName       `json:"path"`
	To   PathName       `json:"to,omitempty"`
	Kind workspace.Kind `json:"kind"`
	// Digest names the kind and the content of what is there after the change:
	// see [Digest]. It is empty where that is not known.
	Digest string `json:"digest,omitempty"`
	// Mode are the permission bits of a file or a directory after the change, 0
	// where they are not known or stayed what they were.
	Mode fs.FileMode `json:"mode,omitempty"`
}

// Digest names the kind and content of what lies at a path, "" for nothing: a
// file with the SHA-256 of its content, a symlink with that of its target, or a
// directory.
func Digest(dir, link bool, hash string) string {
	switch {
	case dir:
		return "directory"
	case link:
		return "link " + hash
	}
	return "file " + hash
}

// Left lists what the changes of a session left, the oldest first.
func (s *Store) Left(ctx context.Context, session string) ([]Left, error) {
	v, h, err := s.load(ctx)
	if err != nil || v == nil {
		return nil, err
	}
	defer v.close()
	var all []Left
	for _, l := range slices.Backward(h.newestFirst()) {
		if l.Session != session {
			continue
		}
		left := Left{Session: l.Session, Call: l.Call, Path: l.Path, To: l.To,
			Kind: workspace.Kind(l.Op), Mode: l.NewMode.Perm()}
		after := l.after()
		if left.Kind == workspace.Rename {
			after, left.Mode = l.moved(), l.Mode.Perm()
		}
		if after.isLink() || !after.exists {
			left.Mode = 0
		}
		if after.exists && (after.hash != "" || after.isDir()) {
			left.Digest = Digest(after.isDir(), after.isLink(), after.hash)
		}
		all = append(all, left)
	}
	return all, nil
}
