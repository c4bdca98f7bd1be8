package kit

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/effects"
	"github.com/toolhost/toolhost/internal/keep/undo"
)

// places are where what commands change is kept, by workspace.
var places sync.Map // of place, by *workspace.Workspace

type place struct {
	store *undo.Store
	trees effects.Trees
}

// watch has what commands change in a workspace kept in a store.
func watch(ws *workspace.Workspace, store string, allow, ignore []string) {
	if store == "" {
		return
	}
	opened, err := undo.Open(store, undo.Options{})
	if err != nil {
		return
	}
	p := place{store: opened, trees: effects.Trees{Root: ws.Root(), Ignore: ignore}}
	for _, tree := range allow {
		if real, err := filepath.EvalSymlinks(tree); err == nil {
			p.trees.Allow = append(p.trees.Allow, real)
		}
	}
	places.Store(ws, p)
}

// watched gives what watches the processes of a call, nil where the host does or
// nobody.
func watched(ctx context.Context, ws *workspace.Workspace, call *tool.Call) *effects.Call {
	found, ok := places.Load(ws)
	if !ok || effects.From(ctx) != nil {
		return nil
	}
	p := found.(place)
	own := undo.Call{Session: call.Session, ID: call.RequestID, Step: call.Step, Tool: call.Tool}
	return effects.New(p.store, own, p.trees)
}

// changed adds what a call's processes have changed to its result.
func changed(r *tool.Result, watching *effects.Call) *tool.Result {
	if watching == nil {
		return r
	}
	report := watching.End()
	if r == nil {
		return nil
	}
	if len(report.Files) > 0 {
		files := append(slices.Clone(r.FilesAffected), report.Files...)
		slices.Sort(files)
		r.FilesAffected = slices.Compact(files)
	}
	if note := report.Note(); note != "" {
		r.Metadata = maps.Clone(r.Metadata)
		if r.Metadata == nil {
			r.Metadata = make(map[string]any, 1)
		}
		r.Metadata["not_kept"] = note
	}
	return r
}
