package cliagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/textedit/fileedit"
	"github.com/toolhost/toolhost/host/tool"
)

// maxFile bounds what is written to or shown of a file at once: 10 MB.
const maxFile = 10 << 20

type createFileParams struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func createFile(deps Deps) tool.Tool {
	return planned(newTool(deps, &tool.Definition{
		Name:  "create_file",
		Title: "Create a file",
		Description: "Writes a new file with the given content, at most 10 MB. Directories that are missing above it are made. " +
			"A file that exists is never overwritten. Returns: the file's path and size.",
		Category:    "file",
		Parameters:  json.RawMessage(createFileParameters),
		Returns:     returns(""),
		Risk:        tool.SafeWrite,
		Permissions: []tool.Permission{tool.FileWrite},
		Examples: []tool.Example{{
			Description: "A small program",
			Params:      json.RawMessage(`{"path":"hello.py","content":"print('hello')\n"}`),
		}},
	}, runCreateFile), planCreateFile)
}

const createFileParameters = `{
  "type": "object",
  "properties": {
    "path": {"type": "string", "description": "The new file, relative to the working directory.", "minLength": 1},
    "content": {"type": "string", "description": "What to write into it."}
  },
  "required": ["path", "content"],
  "additionalProperties": false
}`

// edit checks what can be known from the parameters alone.
func (p createFileParams) edit() (fileedit.Edit, error) {
	if len(p.Content) > maxFile {
		return fileedit.Edit{}, tool.Errorf(codeInvalidParameter, "Content of %d bytes is larger than the limit of 10MB", len(p.Content)).
			Suggest("Split the content into several files.").With("limit", maxFile)
	}
	if strings.HasSuffix(p.Path, "/") {
		return fileedit.Edit{}, tool.Errorf(codeInvalidParameter, "Path '%s' names a directory", p.Path).
			Suggest("Leave the slash at the end out, or use create_directory.").With("path", p.Path)
	}
	return fileedit.Edit{Path: p.Path, Create: true, Change: func([]byte) ([]byte, error) { return []byte(p.Content), nil }}, nil
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
		output: fmt.Sprintf("Created file: %s (%d bytes)", p.Path, len(p.Content)),
		files:  done.Files(),
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
