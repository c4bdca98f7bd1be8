package undo

import (
	"context"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// OpenWorkspace opens a workspace in which every change of a file is kept in the store in dir, to be undone;
// with an empty dir nothing is kept. Programs that serve tools in their own process, such as plugins, open
// their workspace with it and use [ForCall]:
//
//	ws, err := undo.OpenWorkspace(dir, env.Workspace.Root, workspace.Options{...})
//	...
//	func (t *fileTool) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
//		ctx, ws := undo.ForCall(ctx, t.workspace, call)
//		... // write through this ws, or through functions given this ctx
//	}
//
// A change whose old content cannot be kept is refused unless the operator allows it, see [Optional].
// options.Recorder is replaced. Errors are those of workspace.Open.
func OpenWorkspace(dir, root string, options workspace.Options) (*workspace.Workspace, error) {
	if options.Recorder = nil; dir == "" {
		return workspace.Open(root, options)
	}
	store, err := Open(dir, Options{BestEffort: Optional()})
	if err != nil {
		return nil, err
	}
	options.Recorder = store.Recorder("", "", 0)
	return workspace.Open(root, options)
}

// ForCall returns a context and a view of ws in which changes belong to the call. It is free for workspaces without
// a recorder, and ws may be nil.
func ForCall(ctx context.Context, ws *workspace.Workspace, call *tool.Call) (context.Context, *workspace.Workspace) {
	ctx = WithCall(ctx, Call{Session: call.Session, ID: call.RequestID, Step: call.Step, Tool: call.Tool})
	if ws == nil {
		return ctx, nil
	}
	return ctx, ws.WithContext(ctx)
}
