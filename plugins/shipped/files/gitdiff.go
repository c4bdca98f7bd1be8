package files

import (
	"context"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/files/gitread"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/plugins/shipped/internal/kit"
)

func runGitDiff(ctx context.Context, d deps, call *tool.Call, _ struct{}) (*tool.Result, error) {
	ws := d.workspace
	path, err := proc.LookPath("git", ws.Root())
	if err != nil {
		return nil, err
	}
	top, err := gitread.Find(ws.Root())
	if err != nil {
		return nil, err
	}
	git := program{workspace: ws, path: path, prepare: kit.ConfineGit(d.settings, ws.Root(), top)}
	g := &gitread.Git{Top: top,
		Start: func(ctx context.Context, args []string, env map[string]string) (*proc.Result, error) {
			return git.run(ctx, call, args, env)
		}}
	ended, err := g.Run(ctx, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty",
		"--submodule=short",
		"--src-prefix=a/", "--dst-prefix=b/", "--relative", "--", ".")
	if err != nil {
		return nil, err
	}
	if ended.ExitCode == 0 && ended.Stdout.Bytes == 0 && ended.Stderr.Bytes == 0 {
		return tool.Text("No changes found in working directory"), nil
	}
	return report("git diff", ended, func(code int) bool { return code == 0 })
}
