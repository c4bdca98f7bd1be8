package files

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/change"
	"github.com/toolhost/toolhost/internal/file/gitread"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

type program struct {
	workspace *workspace.Workspace
	path      string
	prepare   func(*exec.Cmd) error
}

func (p program) run(ctx context.Context, call *tool.Call, args []string, env map[string]string) (*proc.Result, error) {
	c := proc.Command{
		Argv: append([]string{p.path}, args...), Dir: p.workspace.Root(), Env: proc.Environ(env),
		Timeout: commandTimeout, Prepare: p.prepare,
	}
	c.Spill(c.Dir, call.ArtifactDir, call.Step)
	return proc.Run(ctx, c)
}

// report returns a program's output, or an error that includes it.
func report(name string, p *proc.Result, succeeded func(code int) bool) (*tool.Result, error) {
	switch {
	case p.Cancelled:
		return nil, failure(tool.Cancelled, p, name+" was cancelled").
			Suggest("Call again if the result is still wanted.")
	case p.TimedOut:
		return nil, failure(tool.Timeout, p,
			fmt.Sprintf("%s did not finish within %s and was ended", name, commandTimeout)).
			Suggest("Ask for less in one call: fewer directories, or a narrower pattern.")
	case p.Signal != "":
		return nil, failure(tool.CommandFailed, p, name+" was ended by a signal: "+p.Signal).
			Suggest("Ask for less in one call; it may have run out of memory.")
	case !succeeded(p.ExitCode):
		return nil, failure(tool.CommandFailed, p, fmt.Sprintf("%s failed with exit code %d", name, p.ExitCode)).
			Suggest("Check the output, correct the call and try again.")
	}
	text := p.Stdout.String()
	if p.Stderr.Bytes > 0 {
		text += "stderr:\n" + p.Stderr.String()
	}
	var o kit.Outcome
	o.Ran(p)
	return o.On(tool.Text(text)), nil
}

func failure(code tool.Code, p *proc.Result, message string) *tool.Error {
	stdout, stderr := strings.TrimRight(p.Stdout.String(), "\n"), strings.TrimRight(p.Stderr.String(), "\n")
	if stderr != "" {
		message += "\nstderr:\n" + stderr
	}
	if stdout != "" {
		message += "\nstdout:\n" + stdout
	}
	return tool.Errorf(code, "%s", message).
		With("exit_code", p.ExitCode).With("stdout", stdout).With("stderr", stderr)
}

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
		return tool.Text("No changes found in working directory" + untracked(ctx, g)), nil
	}
	return report("git diff", ended, func(code int) bool { return code == 0 })
}

// untracked returns a line about the files that git neither tracks nor ignores; a diff shows nothing of them.
func untracked(ctx context.Context, g *gitread.Git) string {
	listed, err := g.Run(ctx, "ls-files", "--others", "--exclude-standard", "--directory", "--no-empty-directory", "-z",
		"--", ".")
	if err != nil || listed.ExitCode != 0 || listed.Stdout.Bytes == 0 || listed.Stdout.Truncated() {
		return ""
	}
	names := strings.Split(strings.TrimSuffix(listed.Stdout.String(), "\x00"), "\x00")
	slices.Sort(names)
	switch {
	case len(names) > 1:
		return fmt.Sprintf("\n%s new paths are not tracked: %s", change.Number(len(names)), change.Names(names))
	case strings.HasSuffix(names[0], "/"):
		return "\n1 new directory is not tracked: " + names[0]
	}
	return "\n1 new file is not tracked: " + names[0]
}
