package files

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/workspace"
	"github.com/toolhost/toolhost/plugins/shipped/internal/kit"
)

type globInput struct {
	Pattern string `json:"pattern"`
}

func runGlob(ctx context.Context, d deps, _ *tool.Call, in globInput) (*tool.Result, error) {
	if in.Pattern == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "glob pattern cannot be empty").
			Suggest("Give a pattern such as **/*.go.")
	}
	// The directory of toolhost is left out, as list_files does. A pattern that
	// begins with it looks into it, and with one of its own directories into that.
	hidden := append(kit.OwnDirs(), ".agent")
	names, err := d.workspace.Glob(ctx, in.Pattern, workspace.GlobOptions{Gitignore: true, SkipDirs: hidden})
	if err != nil {
		return nil, err
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
