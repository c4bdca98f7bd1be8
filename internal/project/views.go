package project

import (
	"context"
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/view"
	watching "github.com/toolhost/toolhost/internal/run/watch"
	"github.com/toolhost/toolhost/internal/store/review"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// views makes views of the workspace, with their changes in the state directory.
type views struct{ p *Project }

// Open implements host.Views.
func (v views) Open(context.Context) (host.View, error) {
	if v.p.stateDir == "" {
		return nil, tool.Errorf(tool.Unavailable, "there is no place for a view of the workspace: %s",
			v.p.stateless.Message).Suggest("%s", v.p.stateless.Suggestion)
	}
	view.Sweep(v.dir(), viewAge)
	// Made during the call, as for caches, it would look like a change by others of the directory that it is in.
	_ = os.Mkdir(filepath.Join(v.p.Workspace.Root(), ".agent"), 0o700)
	dir := filepath.Join(v.dir(), rand.Text())
	made, err := view.New(dir)
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "no view of the workspace can be made: %w", err).
			Suggest("Make space in %s, or repair it.", v.p.stateDir)
	}
	return &projectView{v.p, made}, nil
}

// viewAge is how long a killed process's view may remain.
const viewAge = 24 * time.Hour

func (v views) dir() string { return filepath.Join(v.p.stateDir, "views") }

// Kept implements host.Views.
func (v views) Kept(ctx context.Context, digest string) (*host.Changes, error) {
	var found *view.View
	if v.p.stateDir != "" {
		found = view.Find(v.dir(), digest)
	}
	if found == nil {
		return nil, tool.Errorf(tool.NotFound, "what the call would change is no longer kept").
			Suggest("Ask the agent to make the call again; it then waits again.")
	}
	return (&projectView{v.p, found}).Changes(ctx)
}

type projectView struct {
	p    *Project
	view *view.View
}

// Context implements host.View.
func (v *projectView) Context(ctx context.Context) context.Context {
	return watching.With(view.With(ctx, v.view), nil)
}

// Changes implements host.View.
func (v *projectView) Changes(ctx context.Context) (*host.Changes, error) {
	found, err := review.Read(ctx, v.view, v.p.Workspace.Root())
	if err != nil {
		return nil, err
	}
	changes := &host.Changes{Digest: found.Digest(), Diff: found.Diff(), Files: []host.FileChange{}}
	for i := range found.List {
		c := &found.List[i]
		there := c.After
		if !there.Exists {
			there = c.Before
		}
		file := host.FileChange{Path: c.Path, Change: c.What(), Kind: kindOf(there.Mode), Linked: c.Linked}
		if c.After.Exists && !c.After.Mode.IsDir() {
			file.Bytes, file.SHA256 = c.After.Size, c.After.Hash
		}
		changes.Files = append(changes.Files, file)
	}
	return changes, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	}
	return "file"
}

// Keep implements host.View.
func (v *projectView) Keep(_ context.Context, digest string) error { return v.view.Keep(digest) }

// Place implements host.View.
func (v *projectView) Place() string { return v.view.Dir() }

// Commit implements host.View.
func (v *projectView) Commit(ctx context.Context, digest string) error {
	found, err := review.Read(ctx, v.view, v.p.Workspace.Root())
	if err != nil {
		return err
	}
	if found.Digest() != digest {
		if raced := found.Raced(); len(raced) > 0 {
			return review.Conflict(raced)
		}
		return tool.Errorf(tool.Conflict, "what the call would change is no longer what was decided on").
			Suggest("Nothing was changed. Make the call again.")
	}
	held := v.p.holder()
	for i := range found.List {
		if path := found.List[i].Path; held(path) {
			return tool.Errorf(tool.PermissionDenied, "the call changes %s, which programs outside of the sandbox obey",
				path).Suggest("Nothing was changed. Only the user can change this file.").With("path", path)
		}
	}
	ws, err := v.p.unprotected(workspace.Block)
	if err != nil {
		return err
	}
	defer ws.Close()
	left, done, err := found.Commit(ctx, ws.Restoring())
	if len(left) > 0 {
		v.p.options.Logger.WarnContext(ctx, "directories stay because others have put something into them",
			"directories", left)
	}
	if err != nil && done {
		return v.takeBack(ctx, ws, err)
	}
	return err
}

// takeBack undoes an incomplete commit.
func (v *projectView) takeBack(ctx context.Context, ws *workspace.Workspace, why error) error {
	call, _ := undo.CallOf(ctx)
	err := v.p.Undo.TakeBack(context.WithoutCancel(ctx), ws, call)
	if err == nil {
		return why
	}
	e := tool.AsError(why)
	return tool.Errorf(e.Code, "what the call has changed in its view was put into the workspace in part: %w", why).
		Suggest("Run `toolhost undo %s` to take that part back: it failed by itself (%s).", call.ID,
			tool.AsError(err).Message)
}

// Close implements host.View.
func (v *projectView) Close(ctx context.Context) {
	if err := v.view.Remove(); err != nil {
		v.p.options.Logger.WarnContext(ctx, "a view of the workspace was not removed", "error", err)
	}
}
