package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/atomicfile"
	"github.com/toolhost/toolhost/internal/files/plainfile"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/internal/keep/sources"
	"github.com/toolhost/toolhost/internal/keep/state"
	"github.com/toolhost/toolhost/internal/keep/undo"
	"github.com/toolhost/toolhost/internal/keep/userdir"
)

// stateFile is the name of the database in the state directory.
const stateFile = "state.db"

// findState looks for the directory of what the host believes of the workspace.
// Without one, what can do without it lasts as long as the process.
func (p *Project) findState(root string) {
	dir, err := userdir.State(root, p.config.Workspace.Allow...)
	if err != nil {
		e := tool.AsError(err)
		p.options.Logger.Warn(
			"calls are not recorded, changes cannot be undone, and todos, memories and what waits for approval are "+
				"kept for this process alone",
			"error", e.Message, "help", e.Suggestion)
		dir, p.stateless = "", e
	}
	p.sources = sources.Kept{State: dir}
	if p.options.Fork != nil {
		dir, p.stateless = p.options.Fork.State(), nil
	}
	p.stateDir = dir
	if dir != "" {
		p.tellFormer(root)
	}
}

// openState names the store of what tools keep.
func (p *Project) openState() (err error) {
	if p.stateDir == "" {
		p.store = state.InMemory()
		return nil
	}
	p.store, err = state.Open(filepath.Join(p.stateDir, stateFile))
	return err
}

// openUndo names the store of what tools change. Without a place for it files may
// change all the same, and nothing is kept.
func (p *Project) openUndo() (err error) {
	if p.stateless != nil {
		p.Undo = undo.None(p.stateless)
		return nil
	}
	p.Undo, err = undo.Open(filepath.Join(p.stateDir, undo.DirName),
		undo.Options{BestEffort: undo.Optional(), Logger: p.options.Logger, Held: p.holder()})
	return err
}

// Unprotected is the workspace for a person who brings back what it held: also
// what tools may not touch. Close it.
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

// former are the names in .agent of a workspace under which earlier versions
// kept what they believed.
var former = []string{"state.db", "tasks", "undo"}

// toldFormer is the file in the state directory with what a person has read
// about the former state, and is not shown again.
const toldFormer = "former"

// formerRuns reports whether the record of an earlier version lies in the
// workspace: it counted calls there, which no longer happens where there is
// state.
func formerRuns(root string) bool {
	runs, err := plainfile.Root(filepath.Join(root, ".agent", "runs"))
	if err != nil {
		return false
	}
	defer runs.Close()
	dir, err := runs.Open(".")
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(100)
	return slices.ContainsFunc(names, func(name string) bool {
		_, err := runs.Lstat(name + "/steps")
		return err == nil
	})
}

// tellFormer says once that what lies there is not used. It is not opened.
func (p *Project) tellFormer(root string) {
	var found []string
	for _, name := range former {
		if _, err := os.Lstat(filepath.Join(root, ".agent", name)); err == nil {
			found = append(found, ".agent/"+name)
		}
	}
	if formerRuns(root) {
		found = append(found, ".agent/runs")
	}
	list, told := strings.Join(found, ", "), filepath.Join(p.stateDir, toldFormer)
	if before, _ := plainfile.Read(told, 1<<10); len(found) == 0 || string(before) == list {
		return
	}
	p.options.Logger.Warn("what earlier versions of toolhost kept in the workspace is no longer used and can be deleted",
		"found", list)
	_ = atomicfile.WriteCache(told, []byte(list)) // else it is said once more
}
