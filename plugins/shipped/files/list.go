package files

import (
	"context"
	"path"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
)

func runList(ctx context.Context, d deps, _ *tool.Call, in pathInput) (*tool.Result, error) {
	if in.Path == "" {
		in.Path = "."
	}
	dir, err := listedDir(d.workspace, in.Path)
	if err != nil {
		return nil, err
	}
	var found levels
	err = d.workspace.Walk(ctx, in.Path, workspace.WalkOptions{Hidden: true, SkipDirs: []string{".git", ".agent"}},
		func(e workspace.Entry) error {
			found.add(relativeTo(dir, e))
			return nil
		})
	if err != nil {
		return nil, err
	}
	return found.result(), nil
}

// listedDir gives the form in which Walk names what is below dir: its real
// path.
func listedDir(ws *workspace.Workspace, dir string) (string, error) {
	info, err := ws.Stat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", tool.Errorf(tool.NotADirectory, "%s is not a directory", dir).
			Suggest("Use read_file to see what is in it.").With("path", dir)
	}
	real, err := ws.Check(dir, workspace.Read)
	if err != nil {
		return "", err
	}
	return ws.Rel(real)
}

func relativeTo(dir string, e workspace.Entry) string {
	name := e.Path
	if dir != "." {
		name = strings.TrimPrefix(strings.TrimPrefix(name, path.Clean(dir)), "/")
	}
	if e.Dir {
		name += "/"
	}
	return name
}
