// Package multiedit holds the tool multi_edit, which makes several edits in
// one file, all or none.
package multiedit

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/files/workspace"
)

// New makes the tool for a workspace.
func New(ws *workspace.Workspace) tool.Tool { return &editor{ws: ws} }

type editor struct{ ws *workspace.Workspace }

// Definition describes multi_edit.
func (e *editor) Definition() *tool.Definition {
	return &tool.Definition{
		Name:  "multi_edit",
		Title: "Make several edits in a file",
		Description: "Replaces several texts in one file, one after the other: each edit works on what the edits before it made. " +
			"All edits are applied in one atomic step, or none when any of them fails. " +
			"Each edit replaces the first occurrence of its old_string, or all with replace_all; strings are taken as given. " +
			"When the first old_string is empty, the file is created, with missing directories, from the first new_string. " +
			"Line endings, encoding and file mode stay as they are. " +
			"Returns: a JSON object with message (what was done), actual_replacements (how many occurrences were replaced in all) " +
			"and diff (the whole change as a unified diff, of a very long one the beginning).",
		Category:    "file",
		Parameters:  json.RawMessage(parameters),
		Returns:     json.RawMessage(returns),
		Risk:        tool.Dangerous,
		Permissions: []tool.Permission{tool.FileRead, tool.FileWrite},
		Examples: []tool.Example{
			{
				Description: "Change two settings",
				Params: json.RawMessage(`{"file_path":"config/app.json","edits":[` +
					`{"old_string":"\"debug\": false","new_string":"\"debug\": true"},` +
					`{"old_string":"version: \"1.0\"","new_string":"version: \"2.0\""}]}`),
			},
			{
				Description: "Create a file and edit it",
				Params: json.RawMessage(`{"file_path":"new_project/main.go","edits":[` +
					`{"old_string":"","new_string":"package main\n\nfunc main() {\n\t// Initial content\n}\n"},` +
					`{"old_string":"// Initial content","new_string":"// Updated content with a new line"}]}`),
			},
		},
	}
}

const parameters = `{
  "type": "object",
  "properties": {
    "file_path": {
      "type": "string",
      "description": "The file: an absolute path inside the workspace, or one relative to it."
    },
    "edits": {
      "type": "array",
      "description": "The edits, in the order in which they are made; at least one.",
      "items": {
        "type": "object",
        "properties": {
          "old_string": {
            "type": "string",
            "description": "The exact text to replace. Empty in the first edit only, to create the file."
          },
          "new_string": {
            "type": "string",
            "description": "The text to put in its place; it must differ from old_string."
          },
          "replace_all": {
            "type": "boolean",
            "description": "Replace every occurrence instead of the first.",
            "default": false
          }
        },
        "required": ["old_string", "new_string"],
        "additionalProperties": false
      }
    }
  },
  "required": ["file_path", "edits"],
  "additionalProperties": false
}`

const returns = `{
  "type": "object",
  "properties": {
    "message": {"type": "string", "description": "What was done."},
    "actual_replacements": {"type": "integer", "description": "How many occurrences were replaced in all; creating the file counts as one."},
    "diff": {"type": "string", "description": "The whole change as a unified diff with three lines of context; of a very long one the beginning."}
  },
  "required": ["message", "actual_replacements", "diff"],
  "additionalProperties": false
}`

// Call makes the edits.
func (e *editor) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	r, err := readRequest(call)
	if err != nil {
		return nil, err
	}
	o, err := fileedit.Apply(ctx, e.ws, r.edit())
	if err != nil {
		return nil, fileedit.InContract(err, r.FilePath)
	}
	return o.Result(r.message(), r.replaced), nil
}

// Plan tells what Call would do.
func (e *editor) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	r, err := readRequest(call)
	if err != nil {
		return nil, err
	}
	o, err := fileedit.Preview(ctx, e.ws, r.edit())
	if err != nil {
		return nil, fileedit.InContract(err, r.FilePath)
	}
	return o.Plan(), nil
}
