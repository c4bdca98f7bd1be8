package cliagent

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

type directoryParams struct {
	Path string `json:"path"`
}

type directoryMetadata struct {
	CreatedParents []string `json:"created_parents"`
}

func runCreateDirectory(ctx context.Context, deps Deps, _ *tool.Call, p directoryParams) (*outcome, error) {
	created, err := deps.Workspace.Mkdir(p.Path, true)
	if err != nil {
		return nil, p.failure(deps, err)
	}
	if len(created) == 0 {
		return &outcome{output: "Directory already exists: " + p.Path, metadata: directoryMetadata{[]string{}}}, nil
	}
	last := len(created) - 1
	return &outcome{
		Outcome:  kit.Outcome{Files: created[last:]},
		output:   "Created directory: " + p.Path,
		metadata: directoryMetadata{append([]string{}, created[:last]...)},
	}, nil
}

func planCreateDirectory(_ context.Context, deps Deps, p directoryParams) (*tool.Plan, error) {
	if _, err := deps.Workspace.Check(p.Path, workspace.Write); err != nil {
		return nil, p.failure(deps, err)
	}
	rel, err := deps.Workspace.Rel(p.Path)
	if err != nil {
		return nil, p.failure(deps, err)
	}
	info, err := deps.Workspace.Stat(p.Path)
	switch {
	case err == nil && info.IsDir():
		return &tool.Plan{Preview: "directory exists: " + rel + "\n"}, nil
	case err == nil:
		return nil, p.isFile(p.Path)
	case !errors.Is(err, &tool.Error{Code: tool.NotFound}):
		return nil, p.failure(deps, err)
	}
	return &tool.Plan{FilesAffected: []string{rel}, Preview: "new directory: " + rel + "\n"}, nil
}

func (p directoryParams) failure(deps Deps, err error) error {
	switch e := tool.AsError(err); {
	case e.Code == tool.AlreadyExists:
		return p.isFile(p.Path)
	case e.Code == tool.NotADirectory:
		return p.isFile(p.fileAbove(deps))
	}
	return pathError(err, p.Path, texts{
		missing: fmt.Sprintf("Cannot create directory '%s' - a directory above it is missing", p.Path),
		denied:  "Cannot create directory - permission denied",
		find:    "Look at the directories above it with list_dir.",
	})
}

func (p directoryParams) fileAbove(deps Deps) string {
	for above := path.Clean(p.Path); above != "." && above != "/"; above = path.Dir(above) {
		if info, err := deps.Workspace.Stat(above); err == nil && !info.IsDir() {
			return above
		}
	}
	return p.Path
}

func (p directoryParams) isFile(where string) *tool.Error {
	return tool.Errorf(codeFileExists, "Path '%s' exists as a file, cannot create directory", where).
		Suggest("Choose another name for the directory.").With("path", where)
}
