package files

import (
	"context"
	"path"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/plugins/shipped/internal/kit"
)

func runList(ctx context.Context, d deps, _ *tool.Call, in pathInput) (*tool.Result, error) {
	if in.Path == "" {
		in.Path = "."
	}
	dir, err := kit.Listed(d.workspace, in.Path, "Use read_file to see what is in it.")
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
