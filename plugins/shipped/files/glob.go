package files

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

// ownState begins the names of toolhost's database and what lies beside it.
const ownState = ".agent/state.db"

// ownDirs are left out: the directory of toolhost, as list_files does, and in
// it where the records are. A pattern that begins with one looks into it all
// the same.
func ownDirs() []string {
	return []string{".agent", ".agent/runs", ".agent/cache", ".agent/undo", ".agent/tasks"}
}

type globInput struct {
	Pattern string `json:"pattern"`
}

func runGlob(ctx context.Context, d deps, _ *tool.Call, in globInput) (*tool.Result, error) {
	if in.Pattern == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "glob pattern cannot be empty").
			Suggest("Give a pattern such as **/*.go.")
	}
	names, err := d.workspace.Glob(ctx, in.Pattern, workspace.GlobOptions{Gitignore: true, SkipDirs: ownDirs()})
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
