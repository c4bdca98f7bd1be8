package files

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

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
	repo, err := findRepository(ws)
	if err != nil {
		return nil, err
	}
	git := program{workspace: ws, path: path, prepare: confineGit(ws, settings, repo)}
	g := &gitRun{ctx: ctx, call: call, git: git, top: repo}
	overrides, err := g.filterOverrides()
	if err != nil {
		return nil, err
	}
	ended, err := g.run(overrides, "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--submodule=short",
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
	if dir, err := os.ReadFile(filepath.Join(top, ".git")); err == nil {
		settings.Read = append(slices.Clone(settings.Read), repositoryOf(top, string(dir)))
	}
	return settings.Confine(ws.Root())
}

// gitRun runs git on a repository that nobody vouches for. Its configuration
// may name programs for many occasions; those that a diff has are closed:
// hooks, file system monitors, filters, diff programs, and the transports by
// which missing objects would be fetched.
type gitRun struct {
	ctx  context.Context
	call *tool.Call
	git  program
	top  string // the top directory of the work tree
}

// setting is one entry of git's configuration.
type setting struct{ key, value string }

// run runs git with further settings. They are passed in the environment,
// because on the command line a key that holds an equals sign is another key.
func (g *gitRun) run(further []setting, args ...string) (*proc.Result, error) {
	settings := append([]setting{
		{sentinel, "true"},
		{"safe.directory", g.top},
		{"core.fsmonitor", "false"},
		{"core.hooksPath", os.DevNull},
		{"core.alternateRefsCommand", ""},
		{"core.sshCommand", ""},
		{"protocol.allow", "never"},
	}, further...)
	env := map[string]string{
		"GIT_CONFIG_NOSYSTEM": "1",
		"GIT_ATTR_NOSYSTEM":   "1",
		"GIT_ALLOW_PROTOCOL":  "none",
		"GIT_NO_LAZY_FETCH":   "1",
		"LC_ALL":              "C",
		"GIT_CONFIG_COUNT":    strconv.Itoa(len(settings)),
	}
	for i, s := range settings {
		env["GIT_CONFIG_KEY_"+strconv.Itoa(i)] = s.key
		env["GIT_CONFIG_VALUE_"+strconv.Itoa(i)] = s.value
	}
	args = append([]string{"--no-pager", "--no-optional-locks", "--work-tree=" + g.top}, args...)
	return g.git.run(g.ctx, g.call, args, env)
}
