// Package editfile holds the tool edit_file, which replaces text in a file or
// creates one.
package editfile

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/files/workspace"
)

// The values of Options.Unescape.
const (
	// Contract takes both strings as bodies of Go string literals, and as
	// they were given where that finds nothing.
	Contract = "contract"
	// Fallback takes them as given first.
	Fallback = "fallback"
	// Never takes them as given.
	Never = "never"
)

// Options shape the tool.
type Options struct {
	// Unescape is Contract, Fallback or Never; "" means Contract.
	Unescape string
}

// Valid reports whether the options can be used.
func (o Options) Valid() bool {
	switch o.Unescape {
	case "", Contract, Fallback, Never:
		return true
	}
	return false
}

// New makes the tool for a workspace. Options that are not valid count as
// Contract.
func New(ws *workspace.Workspace, opts Options) tool.Tool {
	if opts.Unescape == "" || !opts.Valid() {
		opts.Unescape = Contract
	}
	return &editor{ws: ws, unescape: opts.Unescape}
}

type editor struct {
	ws       *workspace.Workspace
	unescape string
}

// Definition describes edit_file.
func (e *editor) Definition() *tool.Definition {
	return &tool.Definition{
		Name:        "edit_file",
		Title:       "Edit a file",
		Description: e.description(),
		Category:    "file",
		Parameters:  json.RawMessage(e.parameters()),
		Returns:     json.RawMessage(returns),
		Risk:        tool.Dangerous,
		Permissions: []tool.Permission{tool.FileRead, tool.FileWrite},
		Examples: []tool.Example{
			{
				Description: "Replace the only occurrence of a text",
				Params:      json.RawMessage(`{"path":"src/main.go","old_str":"func oldFunc()","new_str":"func newFunc()","expected_replacements":1}`),
			},
			{
				Description: "Create a file, with the directories above it",
				Params:      json.RawMessage(`{"path":"new_feature/README.md","old_str":"","new_str":"# New Feature\n\nThis is a new feature."}`),
			},
		},
	}
}

func (e *editor) description() string {
	return "Replaces old_str by new_str in one text file, in a single atomic step. " +
		"old_str must be in the file exactly once, whitespace included, or exactly expected_replacements times; then every occurrence is replaced. " +
		"With an empty old_str it creates the file, and missing directories, with new_str as its content; a file that exists is not overwritten that way. " +
		e.unescapeHelp() +
		"Line endings, encoding and file mode stay as they are. When nothing matches, the error shows the nearest lines with whitespace made visible. " +
		"Returns: a JSON object with message (what was done), actual_replacements (how many occurrences were replaced) and diff (the change as a unified diff, of a very long one the beginning)."
}

func (e *editor) unescapeHelp() string {
	switch e.unescape {
	case Never:
		return ""
	case Fallback:
		return "Where old_str does not occur as given, both strings are unescaped as Go string literals. "
	default:
		return "Both strings are unescaped as Go string literals; where old_str then does not occur but does as given, both are taken as given. "
	}
}

func (e *editor) parameters() string {
	if e.unescape != Contract {
		return strings.ReplaceAll(parameters, unescapeNote, "")
	}
	return parameters
}

const unescapeNote = " Unescaped as a Go string literal."

const parameters = `{
  "type": "object",
  "properties": {
    "path": {
      "type": "string",
      "description": "The file, relative to the workspace."
    },
    "old_str": {
      "type": "string",
      "description": "The exact text to replace, with enough around it to be unique. Empty to create the file.` + unescapeNote + `"
    },
    "new_str": {
      "type": "string",
      "description": "The text to put in its place; it must differ from old_str.` + unescapeNote + `"
    },
    "expected_replacements": {
      "type": "integer",
      "description": "How often old_str has to occur; all those occurrences are replaced. Without it exactly one is expected.",
      "minimum": 1
    }
  },
  "required": ["path", "old_str", "new_str"],
  "additionalProperties": false
}`

const returns = `{
  "type": "object",
  "properties": {
    "message": {"type": "string", "description": "What was done."},
    "actual_replacements": {"type": "integer", "description": "How many occurrences were replaced; 1 for a new file."},
    "diff": {"type": "string", "description": "The change as a unified diff with three lines of context; of a very long one the beginning."}
  },
  "required": ["message", "actual_replacements", "diff"],
  "additionalProperties": false
}`

// Call does the edit.
func (e *editor) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	r, err := e.request(call)
	if err != nil {
		return nil, err
	}
	o, err := fileedit.Apply(ctx, e.ws, r.edit())
	if err != nil {
		return nil, fileedit.InContract(err, r.Path)
	}
	return o.Result(r.message(), r.replaced), nil
}

// Plan tells what Call would do.
func (e *editor) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	r, err := e.request(call)
	if err != nil {
		return nil, err
	}
	o, err := fileedit.Preview(ctx, e.ws, r.edit())
	if err != nil {
		return nil, fileedit.InContract(err, r.Path)
	}
	return o.Plan(), nil
}
