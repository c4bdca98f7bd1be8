package kit

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/network"
	"github.com/toolhost/toolhost/internal/store/effects"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// watchedWorkspaces has where commands' changes are kept, by workspace.
var watchedWorkspaces sync.Map // of watchedWorkspace, by *workspace.Workspace

type watchedWorkspace struct {
	store *undo.Store
	trees effects.Trees
}

// watch keeps in a store what commands change in a workspace.
func watch(ws *workspace.Workspace, store string, allow, ignore []string) {
	if store == "" {
		return
	}
	opened, err := undo.Open(store, undo.Options{})
	if err != nil {
		return
	}
	p := watchedWorkspace{store: opened, trees: effects.Trees{Root: ws.Root(), Ignore: ignore}}
	for _, tree := range allow {
		if real, err := filepath.EvalSymlinks(tree); err == nil {
			p.trees.Allow = append(p.trees.Allow, real)
		}
	}
	watchedWorkspaces.Store(ws, p)
}

// watched returns a watcher of a call's processes, nil if there is no store or the host watches.
func watched(ctx context.Context, ws *workspace.Workspace, call *tool.Call) *effects.Call {
	found, ok := watchedWorkspaces.Load(ws)
	if !ok || effects.From(ctx) != nil {
		return nil
	}
	p := found.(watchedWorkspace)
	own := undo.Call{Session: call.Session, ID: call.RequestID, Step: call.Step, Tool: call.Tool}
	return effects.New(p.store, own, p.trees)
}

// changes are those of a call's processes, as in its result.
type changes struct {
	files    []string
	metadata map[string]any
}

func changesOf(watching *effects.Call, call *tool.Call) changes {
	if watching == nil {
		return changes{}
	}
	report := watching.End()
	found := changes{files: change.Bounded(report.Files), metadata: make(map[string]any)}
	if len(report.Files) > 0 {
		told := change.Told(report.Files, call.RequestID)
		if !report.Undoable() {
			told = change.WithoutUndo(told, call.RequestID)
		}
		found.metadata[change.Key] = told
	}
	if note := report.Note(); note != "" {
		found.metadata[change.NotKept] = note
	}
	return found
}

// connect adds the connections of the call's processes.
func (c *changes) connect(log *network.Log) {
	if log == nil {
		return
	}
	log.Settle()
	if list, _ := log.Connections(); len(list) > 0 {
		if c.metadata == nil {
			c.metadata = make(map[string]any, 1)
		}
		c.metadata[network.Key] = list
	}
}

func (c changes) on(r *tool.Result) *tool.Result {
	if len(c.files) > 0 {
		r.FilesAffected = Merged(r.FilesAffected, c.files)
	}
	if len(c.metadata) > 0 {
		metadata := maps.Clone(r.Metadata)
		if metadata == nil {
			metadata = make(map[string]any, len(c.metadata))
		}
		maps.Copy(metadata, c.metadata)
		r.Metadata = metadata
	}
	return r
}

func (c changes) in(err error) error {
	if len(c.metadata) == 0 {
		return err
	}
	e := tool.AsError(err)
	if len(c.files) > 0 {
		e = e.With("files_affected", c.files)
	}
	for _, key := range []string{change.NotKept, network.Key} {
		if fact := c.metadata[key]; fact != nil {
			e = e.With(key, fact)
		}
	}
	return e
}

// Merged returns the paths of both lists, sorted and bounded, never nil.
func Merged(a, b []string) []string {
	all := append(append(make([]string, 0, len(a)+len(b)), a...), b...)
	slices.Sort(all)
	return change.Bounded(slices.Compact(all))
}
