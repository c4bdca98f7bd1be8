package files

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

func glob(ws *workspace.Workspace) tool.Tool {
	return &fileTool{workspace: ws, run: runGlob, definition: &tool.Definition{
		Name:     "glob",
		Title:    "Find files by name",
		Category: "search",
		Description: "Find files and directories whose path matches a pattern: * and ? within a name, ** across directories, " +
			"[a-z] for a set, {a,b} for alternatives. What .gitignore excludes is left out, and so are .git and, unless the pattern begins with it, .agent. " +
			"Returns: a JSON array of paths relative to the workspace, sorted, or the text \"No matches found\".",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"pattern":{"type":"string","description":"The pattern, relative to the workspace, such as *.go or **/*.md."}},"required":["pattern"],"additionalProperties":false}`),
		Risk:        tool.ReadOnly,
		Permissions: []tool.Permission{tool.FileRead},
		Idempotent:  true,
		Examples: []tool.Example{
			example("Find the Go files of the top directory.", `{"pattern":"*.go"}`),
			example("Find all Markdown files.", `{"pattern":"**/*.md"}`),
		},
	}}
}

// ownState begins the names of toolhost's database and what lies beside it.
const ownState = ".agent/state.db"

// ownDirs are left out: the directory of toolhost, as list_files does, and in
// it where the records are. A pattern that begins with one looks into it all
// the same.
func ownDirs() []string {
	return []string{".agent", ".agent/runs", ".agent/cache", ".agent/undo", ".agent/tasks"}
}

func runGlob(ctx context.Context, ws *workspace.Workspace, call *tool.Call) (*tool.Result, error) {
	var in struct {
		Pattern string `json:"pattern"`
	}
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	if in.Pattern == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "glob pattern cannot be empty").
			Suggest("Give a pattern such as **/*.go.")
	}
	names, err := ws.Glob(ctx, in.Pattern, workspace.GlobOptions{Gitignore: true, SkipDirs: ownDirs()})
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(in.Pattern, ownState) {
		names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, ownState) })
	}
	if len(names) == 0 {
		return tool.Text(noMatches), nil
	}
	shown := first(names)
	if left := len(names) - len(shown); left > 0 {
		return listing(shown, fmt.Sprintf("[%d more paths left out; narrow the pattern to see them]", left)), nil
	}
	return listing(shown, ""), nil
}
