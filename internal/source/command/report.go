package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/watch"
)

// report converts a process's end to a result: its output, or an error with it.
func (c *command) report(ctx context.Context, run *argv.Run, values map[string]any, p *proc.Result) (*tool.Result,
	error) {
	switch {
	case p.Cancelled:
		return nil, c.failure(tool.Cancelled, p, "%s was cancelled after %s", c.spec.Name, p.Duration.Round(1e6)).
			Suggest("Call again if the result is still wanted.")
	case p.TimedOut:
		return nil, c.failure(tool.Timeout, p, "%s did not finish within %s and was stopped", c.spec.Name, c.timeout()).
			Suggest("Raise the timeout of tool %q in agent.hcl, or do less in one call.", c.spec.Name)
	case p.Signal != "":
		return nil, c.failure(tool.CommandFailed, p, "%s was ended by a signal: %s", run.Argv[0], p.Signal).
			Suggest("Run it on less data; it may have run out of memory.")
	case !c.spec.Succeeded(p.ExitCode):
		return nil, c.failure(tool.CommandFailed, p, "%s failed with exit code %d", run.Argv[0], p.ExitCode).
			Suggest("%sIt was called as: %s", c.denied(p),
				show.Argv(run.Argv))
	}
	if len(c.spec.Outputs) > 0 {
		return c.made(ctx, run, values, p)
	}
	result := tool.Text(output(p))
	result.Truncated = p.Stdout.Truncated() || p.Stderr.Truncated()
	result.Artifacts = artifacts(p)
	return result.Affecting(c.changed(ctx, run)...), nil
}

func (c *command) made(ctx context.Context, run *argv.Run, values map[string]any, p *proc.Result) (*tool.Result,
	error) {
	printed, err := whole(p.Stdout)
	if err != nil {
		return nil, err
	}
	m := &maker{workspace: c.deps.Workspace, values: values, printed: printed}
	contents, structured, err := m.contents(ctx, c.spec.Outputs)
	if err != nil {
		return nil, err
	}
	result := &tool.Result{Contents: contents, Structured: structured, Artifacts: artifacts(p)}
	return result.Affecting(c.changed(ctx, run)...), nil
}

// changed returns the files that a run changed besides those its processes were seen to change: none if they were
// watched.
func (c *command) changed(ctx context.Context, run *argv.Run) []string {
	if w := watch.From(ctx); w != nil && w.Active() {
		return nil
	}
	return c.affected(run)
}

// output returns the standard output, with any standard error under a heading. If it is cut, its first line says
// so: some clients show only that.
func output(p *proc.Result) string {
	out := p.Stdout.Shown() + p.Stdout.String()
	if len(p.Stderr.Head) == 0 {
		return out
	}
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n"
	}
	return out + "stderr:\n" + p.Stderr.String()
}

// failure returns an error with the process's output, in the message for readers and in the details for
// programs.
func (c *command) failure(code tool.Code, p *proc.Result, format string, args ...any) *tool.Error {
	message := fmt.Sprintf(format, args...)
	stderr, stdout := strings.TrimRight(p.Stderr.String(), "\n"), strings.TrimRight(p.Stdout.String(), "\n")
	if stderr != "" {
		message += "\nstderr:\n" + stderr
	}
	if stdout != "" {
		message += "\nstdout:\n" + stdout
	}
	return tool.Errorf(code, "%s", message).
		With("exit_code", p.ExitCode).
		With("stdout", p.Stdout.String()).
		With("stderr", p.Stderr.String())
}

func (c *command) denied(p *proc.Result) string {
	if c.deps.Denied == nil {
		return ""
	}
	block := fmt.Sprintf("tool %q", c.spec.Name)
	if strings.HasPrefix(c.spec.Pos, "agent.") {
		block += " (" + c.spec.Pos + ")"
	} else {
		block += " of agent.hcl"
	}
	said := c.deps.Denied(block, c.spec.Access, p.Stderr.String()+"\n"+p.Stdout.String())
	if said != "" {
		said += " "
	}
	return said
}

// artifacts returns the files with output too long to show.
func artifacts(p *proc.Result) []tool.Artifact {
	var files []tool.Artifact
	for name, o := range map[string]proc.Output{"stdout": p.Stdout, "stderr": p.Stderr} {
		if o.Path != "" {
			files = append(files, tool.Artifact{Name: name, Path: o.Path, Bytes: o.Bytes})
		}
	}
	return files
}
