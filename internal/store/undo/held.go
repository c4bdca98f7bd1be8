package undo

import (
	"slices"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// A process may have made a file while nothing prevented it, for example in a repository made again since.
// Files that decide what runs are not restored with the rest of a call.

// holds refuses or leaves out a change whose undo would restore a held path that was not named.
func (p *planner) holds(l *line) bool {
	path := string(l.Path)
	brings := l.before().exists && !l.Mode.IsDir() || l.Op == string(workspace.Rename)
	held := p.store.options.Held
	if held == nil || !brings || !held(path) || p.sel.names(path, held) {
		return false
	}
	if p.sel.Skip {
		p.leave(l, path, "decides what runs, and was not named with --path")
	} else {
		p.held = append(p.held, path)
	}
	return true
}

// names reports whether the path is a given one, or lies in one that is held as a whole.
func (s Selection) names(path string, held func(string) bool) bool {
	return slices.ContainsFunc(s.Paths, func(given string) bool {
		return given == path || isWithin(path, given) && held(given)
	})
}

func (p *planner) heldError() error {
	paths := sorted(p.held)
	return tool.Errorf(tool.PermissionDenied,
		"cannot undo %s; nothing was changed: it would restore %s, which programs outside the sandbox, or toolhost itself, "+
			"act on", p.callNames(), change.Names(paths)).
		Suggest("Look at it with toolhost diff -p. Leave it out with --skip, or restore it with --path %s.",
			paths[0]).With("paths", change.Bounded(paths))
}
