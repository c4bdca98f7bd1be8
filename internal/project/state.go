package project

import (
	"context"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/store/callid"
	"github.com/toolhost/toolhost/internal/store/sources"
	"github.com/toolhost/toolhost/internal/store/state"
	"github.com/toolhost/toolhost/internal/store/undo"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

// findState finds the directory of the host's state of the workspace. Without one, optional state lasts
// as long as the process.
func (p *Project) findState(root string) {
	dir, err := userdir.State(root, p.config.Workspace.Allow...)
	if err != nil {
		e := tool.AsError(err)
		p.options.Logger.Warn(
			"calls are not recorded, changes cannot be undone, and todos, memories and what waits for approval are "+
				"kept only for this process",
			"error", e.Message, "help", e.Suggestion)
		dir, p.stateless = "", e
	}
	p.sources, p.stateDir, p.callIDs = sources.Kept{State: dir}, dir, callid.In(dir)
}

func (p *Project) openState() (err error) {
	if p.stateDir == "" {
		p.store = state.InMemory()
		return nil
	}
	p.store, err = state.Open(p.stateDir)
	return err
}

// openUndo opens the undo store. Without a place for it files may change, but nothing is kept.
func (p *Project) openUndo() (err error) {
	if p.stateless != nil {
		p.Undo = undo.None(p.stateless)
		return nil
	}
	p.Undo, err = undo.Open(filepath.Join(p.stateDir, undo.DirName),
		undo.Options{BestEffort: undo.Optional(), Logger: p.options.Logger, Held: p.holder(), CallID: p.callIDs.Next})
	return err
}

// Unprotected returns the workspace for a user who restores files, including those that tools may not
// change. The caller must close it.
func (p *Project) Unprotected() (*workspace.Workspace, error) { return p.unprotected(workspace.Inside) }

func (p *Project) unprotected(symlinks workspace.SymlinkPolicy) (*workspace.Workspace, error) {
	cfg := p.Config()
	options := p.treeOptions(p.Workspace.Root(), cfg)
	options.Protect, options.Symlinks = []string{}, symlinks
	w, err := workspace.Open(p.Workspace.Root(), options)
	if err != nil {
		return nil, usage(err)
	}
	return w, nil
}

// PruneUndo removes undo history beyond its bounds, and if asked what is older than age.
func (p *Project) PruneUndo(ctx context.Context, age time.Duration, asked bool) (undo.Pruned, error) {
	if p.stateless != nil || !asked {
		return p.Undo.Prune(ctx)
	}
	store, err := undo.Open(filepath.Join(p.stateDir, undo.DirName),
		undo.Options{MaxAge: age, BestEffort: undo.Optional(), Logger: p.options.Logger})
	if err != nil {
		return undo.Pruned{}, err
	}
	return store.Prune(ctx)
}
