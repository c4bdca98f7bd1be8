package project

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/fork"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// forkable refuses forks where there are none: without a state directory, and at
// levels of the sandbox at which programs could get behind the fork.
func (p *Project) forkable() error {
	if p.stateDir == "" {
		return tool.Errorf(tool.Unavailable, "there is no place for forks of the workspace: %s", p.stateless.Message).
			Suggest("%s", p.stateless.Suggestion)
	}
	if level := p.SandboxLevel(); level != sandbox.Full && level != sandbox.Auto && level != "" {
		return fork.NotHere(fmt.Sprintf("the sandbox level is %s", level))
	}
	if full := sandbox.On(sandbox.Full); !full.Works {
		return fork.NotHere("the sandbox level full does not work: " + full.Reason)
	}
	return nil
}

// MakeFork makes a fork of the workspace.
func (p *Project) MakeFork(name string) error {
	if err := fork.CheckName(name); err != nil {
		return err
	}
	if err := p.forkable(); err != nil {
		return err
	}
	return fork.Create(p.stateDir, p.Workspace.Root(), name)
}

// Forks are those of the workspace.
func (p *Project) Forks(ctx context.Context) ([]fork.Info, error) {
	forks, err := fork.List(p.stateDir)
	merged := func(f fork.Info) bool { return f.Merge != "" }
	if err != nil || !slices.ContainsFunc(forks, merged) {
		return forks, err
	}
	undone, err := p.undoneMerges(ctx)
	for i := range forks {
		forks[i].Undone = undone.whole(forks[i].Merge)
	}
	return forks, err
}

// undoneMerges has what merges of forks have changed, by call and path, and whether
// that has been undone.
type undoneMerges map[string]map[string]bool

func (p *Project) undoneMerges(ctx context.Context) (undoneMerges, error) {
	changes, err := p.Undo.Changes(ctx, undo.Filter{Session: forkSession})
	u := make(undoneMerges)
	for _, c := range changes {
		if u[c.Call] == nil {
			u[c.Call] = make(map[string]bool)
		}
		before, more := u[c.Call][c.Path]
		u[c.Call][c.Path] = c.UndoneBy != "" && (before || !more)
	}
	return u, err
}

func (u undoneMerges) path(call, path string) bool { return u[call][path] }

// whole reports that nothing of what the call has changed stands.
func (u undoneMerges) whole(call string) bool {
	for _, undone := range u[call] {
		if !undone {
			return false
		}
	}
	return len(u[call]) > 0
}

// HoldFork takes a fork to work in it.
func (p *Project) HoldFork(name string) (*fork.Fork, error) {
	if err := p.forkable(); err != nil {
		return nil, err
	}
	return fork.Hold(p.stateDir, name)
}

// LookInFork is a fork that is not held, to look at its files while a session may work
// in it.
func (p *Project) LookInFork(name string) (*fork.Fork, error) {
	if err := p.forkable(); err != nil {
		return nil, err
	}
	return fork.Named(p.stateDir, name)
}

// OpenFork takes a fork, to look at it or merge it. Of what has been undone since a
// merge it is as before that.
func (p *Project) OpenFork(ctx context.Context, name string) (*fork.Fork, error) {
	if err := p.forkable(); err != nil {
		return nil, err
	}
	f, err := fork.Open(p.stateDir, name, p.Workspace.Root())
	if err != nil || f.Merged.IsZero() {
		return f, err
	}
	undone, err := p.undoneMerges(ctx)
	if err != nil {
		f.Close()
		return nil, err
	}
	f.Undone(undone.path)
	return f, nil
}

// DropFork removes a fork.
func (p *Project) DropFork(name string) error {
	f, err := fork.Hold(p.stateDir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Drop()
}

// forkSession is the session in whose name forks are merged.
const forkSession = "cli"

// MergeFork puts what a fork has changed into the workspace, as one call that can be
// undone. call is "" where nothing had to be changed.
func (p *Project) MergeFork(ctx context.Context, f *fork.Fork, m *fork.Merge) (call string, left []string, err error) {
	if err := p.held(); err != nil {
		return "", nil, err
	}
	if len(m.Changes.List) > 0 {
		call = "merge-" + rand.Text()[:8]
	}
	if err := m.Begin(call); err != nil {
		return "", nil, err
	}
	if call != "" {
		own := undo.Call{Session: forkSession, ID: call, Tool: "fork merge"}
		if left, err = p.commitFork(undo.WithCall(ctx, own), m); err != nil {
			return "", nil, err
		}
	}
	if !m.Empty() {
		p.noteMerge(ctx, f.Name, call, m)
	}
	return call, left, m.End()
}

// commitFork puts the changes of a merge into the workspace, all or none.
func (p *Project) commitFork(ctx context.Context, m *fork.Merge) ([]string, error) {
	ws, err := p.unprotected(workspace.Block)
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	left, done, err := m.Changes.Commit(ctx, ws.Restoring())
	if err != nil && done {
		err = (&projectView{p: p}).takeBack(ctx, ws, err)
	}
	return left, err
}

// noteMerge records a merge.
func (p *Project) noteMerge(ctx context.Context, name, call string, m *fork.Merge) {
	conflicts := make([]string, 0, len(m.Conflicts))
	for _, c := range m.Conflicts {
		conflicts = append(conflicts, c.Path)
	}
	files := slices.Clone(m.Changes.Names())
	err := p.Recorder.Event(ctx, forkSession, "fork_merged", map[string]any{"request_id": call, "fork": name,
		"files_affected": files[:min(len(files), 1000)], "conflicts": conflicts[:min(len(conflicts), 1000)]})
	if err != nil {
		p.options.Logger.WarnContext(ctx, "the merge of a fork was not recorded", "fork", name, "error", err)
	}
}

// sweepFork has the fork that this program runs in note what the workspace holds by
// the paths that it has changed.
func (p *Project) sweepFork(ctx context.Context) {
	if p.options.Fork == nil {
		return
	}
	if _, err := p.options.Fork.Sweep(false); err != nil {
		p.options.Logger.WarnContext(ctx, "what the workspace held is not known of all that the fork has changed",
			"fork", p.options.Fork.Name, "error", err)
	}
}

// NamedFork is a fork whose sessions' state is to be looked at.
func (p *Project) NamedFork(name string) (*fork.Fork, error) { return fork.Named(p.stateDir, name) }
