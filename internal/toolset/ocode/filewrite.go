package ocode

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

type fileWriteParams struct {
	Path       string `json:"path"`
	Content    string `json:"content"`
	CreateDirs bool   `json:"create_dirs"`
}

// check refuses a path that ends with a slash, which names a directory.
func (p fileWriteParams) check() error {
	if strings.HasSuffix(p.Path, "/") {
		return tool.Errorf(tool.IsDirectory, "Is a directory: %s", p.Path).
			Suggest("Name a file, without a slash at the end.").With("path", p.Path)
	}
	return nil
}

func runFileWrite(_ context.Context, deps Deps, _ *tool.Call, p fileWriteParams) (*outcome, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	created, err := deps.Workspace.WriteFile(p.Path, []byte(p.Content), workspace.WriteOptions{Parents: p.CreateDirs})
	if err != nil {
		return nil, p.failure(err)
	}
	rel, err := deps.Workspace.Rel(p.Path)
	if err != nil {
		return nil, err
	}
	return &outcome{
		Outcome:  kit.Outcome{Files: []string{rel}},
		output:   fmt.Sprintf("Successfully wrote %s to %s", counted(len(p.Content), "byte"), p.Path),
		metadata: facts{"path": rel, "bytes_written": len(p.Content), "created": created},
	}, nil
}

func (p fileWriteParams) failure(err error) error {
	if tool.CodeOf(err) == tool.NotFound {
		return tool.Errorf(tool.NotFound, "Directory not found: %s", path.Dir(strings.ReplaceAll(p.Path, "\\", "/"))).
			Suggest("Leave create_dirs out, or set it to true, to have the directory made.").With("path", p.Path)
	}
	return pathError(err, p.Path)
}

func planFileWrite(_ context.Context, deps Deps, p fileWriteParams) (*tool.Plan, error) {
	ws := deps.Workspace
	if err := p.check(); err != nil {
		return nil, err
	}
	if _, err := ws.Check(p.Path, workspace.Write); err != nil {
		return nil, pathError(err, p.Path)
	}
	rel, err := ws.Rel(p.Path)
	if err != nil {
		return nil, pathError(err, p.Path)
	}
	o := &fileedit.Outcome{Path: rel, New: []byte(p.Content)}
	switch o.Old, _, err = ws.ReadFile(p.Path, 0); tool.CodeOf(err) {
	case "":
	case tool.NotFound:
		if _, missing := ws.Stat(path.Dir(rel)); missing != nil && !p.CreateDirs {
			return nil, p.failure(missing)
		}
		o.Created = true
	default:
		return nil, pathError(err, p.Path)
	}
	return o.Plan(), nil
}
