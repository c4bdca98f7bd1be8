package files

import (
	"context"
	"encoding/json"
	"os/exec"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/gitread"
	"github.com/toolhost/toolhost/host/proc"
	"github.com/toolhost/toolhost/host/sandbox"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

func gitDiff(ws *workspace.Workspace, settings sandbox.Settings) tool.Tool {
	run := func(ctx context.Context, ws *workspace.Workspace, call *tool.Call) (*tool.Result, error) {
		return runGitDiff(ctx, ws, settings, call)
	}
	return &fileTool{workspace: ws, run: run, definition: &tool.Definition{
		Name:     "git_diff",
		Title:    "Show unstaged changes",
		Category: "git",
		Description: "Show what has been changed in the workspace since it was last staged or committed, as git diff does. " +
			"Staged changes and files that git does not know are not shown. Programs that the repository's own configuration names are not run. " +
			"Returns: a unified diff, or the text \"No changes found in working directory\".",
		Parameters:  json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		Risk:        tool.ReadOnly,
		Permissions: []tool.Permission{tool.FileRead},
		Timeout:     commandTimeout + 10*time.Second, // git ends first, and what it printed is kept
		Idempotent:  true,
		Examples:    []tool.Example{example("See what was changed.", `{}`)},
	}}
}

func runGitDiff(ctx context.Context, ws *workspace.Workspace, settings sandbox.Settings, call *tool.Call) (*tool.Result, error) {
	path, err := proc.LookPath("git", ws.Root())
	if err != nil {
		return nil, err
	}
	top, err := gitread.Find(ws.Root())
	if err != nil {
		return nil, err
	}
	git := program{workspace: ws, path: path, prepare: confineGit(ws, settings, top)}
	g := &gitread.Git{Top: top, Start: func(ctx context.Context, args []string, env map[string]string) (*proc.Result, error) {
		return git.run(ctx, call, args, env)
	}}
	ended, err := g.Run(ctx, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short",
		"--src-prefix=a/", "--dst-prefix=b/", "--relative", "--", ".")
	if err != nil {
		return nil, err
	}
	if ended.ExitCode == 0 && ended.Stdout.Bytes == 0 && ended.Stderr.Bytes == 0 {
		return tool.Text("No changes found in working directory"), nil
	}
	return report("git diff", ended, func(code int) bool { return code == 0 })
}

// confineGit has git see the repository wherever it lies, and change nothing
// but what is in the workspace, where filters of the user's keep large files.
func confineGit(ws *workspace.Workspace, settings sandbox.Settings, top string) func(*exec.Cmd) error {
	if top != ws.Root() {
		settings.Read = append(slices.Clone(settings.Read), top)
	}
	settings.Read = append(slices.Clone(settings.Read), gitread.Reads(top)...)
	return settings.Confine(ws.Root())
}
