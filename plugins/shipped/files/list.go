package files

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

func listFiles(ws *workspace.Workspace) tool.Tool {
	return &fileTool{workspace: ws, run: runList, definition: &tool.Definition{
		Name:     "list_files",
		Title:    "List files",
		Category: "file",
		Description: "List everything below a directory, hidden files too, without .git and .agent. " +
			"Of a tree that is too large to show, the upper levels are listed. " +
			"Returns: a JSON array of paths, relative to the listed directory and sorted; those of directories end in a slash.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"Path of the directory, relative to the workspace. Left out, it is the workspace itself.","default":""}},"additionalProperties":false}`),
		Risk:        tool.ReadOnly,
		Permissions: []tool.Permission{tool.FileRead},
		Idempotent:  true,
		Examples: []tool.Example{
			example("List the workspace.", `{}`),
			example("List the directory agent.", `{"path":"agent"}`),
		},
	}}
}

func runList(ctx context.Context, ws *workspace.Workspace, call *tool.Call) (*tool.Result, error) {
	var in pathInput
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	if in.Path == "" {
		in.Path = "."
	}
	dir, err := listedDir(ws, in.Path)
	if err != nil {
		return nil, err
	}
	var found levels
	err = ws.Walk(ctx, in.Path, workspace.WalkOptions{Hidden: true, SkipDirs: []string{".git", ".agent"}}, func(e workspace.Entry) error {
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
