package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/toolhost/toolhost/host/textedit/fileedit"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
	"github.com/toolhost/toolhost/plugins/sdk/registry"
)

type fileWriteParams struct {
	Path       string `json:"path"`
	Content    string `json:"content"`
	CreateDirs bool   `json:"create_dirs"`
}

func fileWrite(deps Deps) tool.Tool {
	return newTool(deps, spec[fileWriteParams]{
		Definition: tool.Definition{
			Name:  "file_write",
			Title: "Write a file",
			Description: "Writes a file with the given content, new or in the place of the old one, in one step. " +
				"A file that exists keeps its mode. To change a part of a file, use file_edit. " +
				"Returns: what was written, and in metadata path, bytes_written and created.",
			Category:    "file_operations",
			Risk:        tool.Dangerous,
			Permissions: []tool.Permission{tool.FileWrite},
			Idempotent:  true,
			Examples: []tool.Example{
				{Description: "A new file in a new directory", Params: json.RawMessage(`{"path":"src/hello.py","content":"print('hello')\n"}`)},
				{Description: "Only where the directory exists", Params: json.RawMessage(`{"path":"hello.py","content":"","create_dirs":false}`)},
			},
		},
		parameters: []registry.Parameter{
			{Name: "path", Type: "string", Required: true, Description: "The file, relative to the workspace."},
			{Name: "content", Type: "string", Required: true, Description: "What the file is to hold."},
			{Name: "create_dirs", Type: "boolean", Default: true, Description: "Whether to make directories that are missing above it."},
		},
		facts: `"path":{"type":"string","description":"The file."},` +
			`"bytes_written":{"type":"integer","description":"Size of the content."},` +
			`"created":{"type":"boolean","description":"Whether the file is new."}`,
		aliases: aliases{{"file_path", "path", nil}},
		run:     runFileWrite,
		plan:    planFileWrite,
	})
}

// check refuses the name of a directory that is not there.
func (p fileWriteParams) check() error {
	if strings.HasSuffix(p.Path, "/") {
		return tool.Errorf(tool.IsDirectory, "Is a directory: %s", p.Path).Suggest("Name a file, without a slash at the end.").With("path", p.Path)
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
		output:   fmt.Sprintf("Successfully wrote %s to %s", bytesOf(len(p.Content)), p.Path),
		metadata: facts{"path": rel, "bytes_written": len(p.Content), "created": created},
		files:    []string{rel},
	}, nil
}

func bytesOf(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
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
