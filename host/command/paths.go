package command

import (
	"context"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/workspace"
)

// Paths lets argv check paths against a workspace.
func Paths(ctx context.Context, w *workspace.Workspace) argv.Paths { return paths{ctx, w} }

type paths struct {
	ctx       context.Context // of the call whose arguments are checked
	workspace *workspace.Workspace
}

// Check implements argv.Paths.
func (p paths) Check(path string, use argv.Kind) error {
	access := workspace.Read
	switch use {
	case argv.Write:
		access = workspace.Write
	case argv.Remove:
		access = workspace.Remove
	}
	_, err := p.workspace.Check(path, access)
	return err
}

// Glob implements argv.Paths. As in a shell, a leading dot has to be written.
func (p paths) Glob(pattern string) ([]string, error) {
	return p.workspace.Glob(p.ctx, pattern, workspace.GlobOptions{NoHidden: true})
}

// IsDir implements argv.Paths.
func (p paths) IsDir(path string) bool {
	info, err := p.workspace.Stat(path)
	return err == nil && info.IsDir()
}
