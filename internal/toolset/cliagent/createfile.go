package cliagent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// maxFile limits what is written or shown of a file at once: 10 MB.
const maxFile = 10 << 20

type createFileParams struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// edit checks the parameters by themselves.
func (p createFileParams) edit() (fileedit.Edit, error) {
	if len(p.Content) > maxFile {
		return fileedit.Edit{},
			tool.Errorf(codeInvalidParameter, "Content of %d bytes is larger than the limit of 10MB",
				len(p.Content)).
				Suggest("Split the content into several files.").With("limit", maxFile)
	}
	if strings.HasSuffix(p.Path, "/") {
		return fileedit.Edit{}, tool.Errorf(codeInvalidParameter, "Path '%s' names a directory", p.Path).
			Suggest("Leave the slash at the end out, or use create_directory.").With("path", p.Path)
	}
	return fileedit.Edit{Path: p.Path, Create: true,
		Change: func([]byte) ([]byte, error) { return []byte(p.Content), nil }}, nil
}

func runCreateFile(ctx context.Context, deps Deps, _ *tool.Call, p createFileParams) (*outcome, error) {
	edit, err := p.edit()
	if err != nil {
		return nil, err
	}
	done, err := fileedit.Apply(ctx, deps.Workspace, edit)
	if err != nil {
		return nil, p.failure(deps, err)
	}
	return &outcome{
		Outcome: kit.Outcome{Files: done.Files()},
		output:  fmt.Sprintf("Created file: %s (%d bytes)", p.Path, len(p.Content)),
	}, nil
}

func planCreateFile(ctx context.Context, deps Deps, p createFileParams) (*tool.Plan, error) {
	edit, err := p.edit()
	if err != nil {
		return nil, err
	}
	preview, err := fileedit.Preview(ctx, deps.Workspace, edit)
	if err != nil {
		return nil, p.failure(deps, err)
	}
	plan := preview.Plan()
	if plan.Preview == "" { // an empty file has no diff
		plan.Preview = "new file: " + preview.Path + "\n"
	}
	return plan, nil
}

func (p createFileParams) failure(deps Deps, err error) error {
	if errors.Is(err, &tool.Error{Code: tool.AlreadyExists}) {
		if info, statErr := deps.Workspace.Stat(p.Path); statErr == nil && info.IsDir() {
			return isDirectory(p.Path)
		}
		return tool.Errorf(codeFileExists, "File '%s' already exists. Use replace_string_in_file to modify", p.Path).
			Suggest("Change the file with replace_string_in_file, or choose another name.").With("path", p.Path)
	}
	return pathError(err, p.Path, texts{
		missing: fmt.Sprintf("Cannot create file '%s' - its directory is missing", p.Path),
		denied:  fmt.Sprintf("Cannot create file '%s' - permission denied", p.Path),
		find:    "Make the directory with create_directory and try again.",
	})
}
