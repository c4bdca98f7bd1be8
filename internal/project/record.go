package project

import (
	"context"
	"maps"
	"os"
	"path/filepath"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/effects"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/store/undo"
)

// openRecord opens the record in the user's state. Copies go into the workspace, or into the operator's
// directory for a run.
func (p *Project) openRecord() (*record.Recorder, error) {
	options := record.Options{Root: p.Workspace.Root(), State: p.stateDir, Workspace: p.Workspace.Root(),
		Copy: builtinToolset(p.options.Toolset).EventsFile, Secrets: p.config.Secrets, Keep: limitsOf(p.config)}
	if dir := p.options.Artifacts; dir != "" {
		abs, err := filepath.Abs(dir)
		if err == nil {
			err = os.MkdirAll(abs, 0o755)
		}
		if err != nil {
			return nil, usage(tool.Errorf(tool.InvalidArgument, "--artifacts %s: %v", dir, err).
				Suggest("Give a directory that can be made and written."))
		}
		options.Root, options.Dir, options.Single, options.Copy = abs, ".", true, true
	}
	return record.New(options)
}

// ignoreState hides toolhost's files in .agent from git, once that directory exists.
func (p *Project) ignoreState() {
	if p.ignored.Load() {
		return
	}
	if _, err := os.Lstat(filepath.Join(p.Workspace.Root(), ".agent")); err != nil {
		return
	}
	root, err := os.OpenRoot(p.Workspace.Root())
	if err != nil {
		return
	}
	defer root.Close()
	p.ignored.Store(record.IgnoreInGit(root))
}

// callContext names the call in its context, for undo and the record.
func (p *Project) callContext(ctx context.Context, call *tool.Call) context.Context {
	p.session.Store(&call.Session)
	p.ignoreState() // of earlier calls
	p.sessionBegun(call.Session)
	own := undo.Call{Session: call.Session, ID: call.RequestID, Step: call.Step, Tool: call.Tool}
	return effects.With(undo.WithCall(ctx, own), effects.New(p.Undo, own, p.trees()))
}

func (p *Project) lifeOf(name string) *effects.Lifetime {
	session := "default"
	if last := p.session.Load(); last != nil {
		session = *last
	}
	own := undo.Call{Session: session, Tool: name} // gets an ID when it changes something
	return effects.NewLifetime(&p.calls, p.Undo, own, p.trees())
}

// trees returns where processes' changes are kept.
func (p *Project) trees() effects.Trees {
	trees := effects.Trees{Root: p.Workspace.Root(), Ignore: p.Config().Record.Ignore}
	for _, tree := range p.Config().Workspace.Allow {
		if real, err := filepath.EvalSymlinks(tree); err == nil {
			trees.Allow = append(trees.Allow, real)
		}
	}
	return trees
}

func (p *Project) effects(ctx context.Context) (ended func() (files []string, note string, undo bool)) {
	call := effects.From(ctx)
	leave := p.calls.Enter(call)
	return func() ([]string, string, bool) {
		leave()
		report := call.End()
		if err := p.Undo.Present(); err != nil && !p.undoMissed.Swap(true) {
			p.options.Logger.WarnContext(ctx, "what calls have changed cannot be undone", "error", err)
		}
		if err := p.Undo.Kept(); err != nil && len(report.Files) > 0 {
			return report.Files, err.Error(), false
		}
		return report.Files, report.Note(), report.Undoable()
	}
}

// pluginLife records events of a plugin's process: in the session of the call that started it, else of
// the last call. Before the first call there is no record.
func (p *Project) pluginLife(ctx context.Context, plugin, event string, details map[string]any) {
	p.telemetry.Note(ctx, event, details)
	payload := map[string]any{"plugin": plugin}
	maps.Copy(payload, details)
	session := p.session.Load()
	if call, ok := undo.CallOf(ctx); ok {
		session, payload["request_id"] = &call.Session, call.ID
	}
	if session == nil {
		return
	}
	if err := p.Recorder.Event(ctx, *session, event, payload); err != nil {
		p.options.Logger.DebugContext(ctx, "an event was not recorded", "event", event, "error", err) // the host warns
	}
}

// RecordLimits returns the current bounds of the record.
func (p *Project) RecordLimits() record.Limits { return limitsOf(p.Config()) }

func limitsOf(cfg *config.Config) record.Limits {
	return record.Limits{Age: cfg.Record.Keep, Bytes: cfg.Record.Size}
}

// unrecorded returns whether calls and their changes must be recorded, and why they cannot.
func (p *Project) unrecorded() (required bool, err error) {
	required, err = p.Config().Record.Required, p.Recorder.Kept()
	if required && err == nil {
		err = p.Undo.Present()
	}
	return required, err
}
