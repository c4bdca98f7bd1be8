package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/proc"
	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
	"github.com/toolhost/toolhost/plugins/sdk/registry"
)

const (
	// maxSeconds is the longest timeout, stopTime what it takes to end a
	// command that does not want to.
	maxSeconds = 3600
	stopTime   = 10 * time.Second
)

type bashParams struct {
	Command    string         `json:"command"`
	WorkingDir string         `json:"working_dir"`
	Timeout    schema.Integer `json:"timeout"`
	Env        map[string]any `json:"env"`
}

func bash(deps Deps) tool.Tool {
	return newTool(deps, spec[bashParams]{
		Definition: tool.Definition{
			Name:  "bash",
			Title: "Run a command",
			Description: "Runs a command line in a shell, in the workspace or a directory of it, confined as the operator says. Its standard input is empty. " +
				"Variables that the env tool has set in this session are there. A command that runs longer than timeout is ended with everything that it started. " +
				"Returns: what it printed, and in metadata exit_code, stdout, stderr and duration in seconds; a command that fails is an error with the same.",
			Category:    "system",
			Risk:        tool.Dangerous,
			Permissions: []tool.Permission{tool.ShellExec},
			Timeout:     maxSeconds*time.Second + stopTime,
			Examples: []tool.Example{
				{Params: json.RawMessage(`{"command":"git log --oneline -5"}`)},
				{Description: "Elsewhere, with more time and a variable", Params: json.RawMessage(`{"command":"make test","working_dir":"server","timeout":300,"env":{"CI":"1"}}`)},
			},
		},
		parameters: []registry.Parameter{
			{Name: "command", Type: "string", Required: true, Description: "The command line."},
			{Name: "working_dir", Type: "string", Description: "The directory to run it in, relative to the workspace; the workspace itself when left out."},
			{Name: "timeout", Type: "integer", Default: 30, Description: "How long it may run, in seconds, up to 3600."},
			{Name: "env", Type: "object", Description: "Further environment variables, as names and values.", Secret: true},
		},
		facts: `"exit_code":{"type":"integer","description":"The exit code; 124 when it was ended for time."},` +
			`"stdout":{"type":"string","description":"What it printed."},` +
			`"stderr":{"type":"string","description":"What it printed on standard error."},` +
			`"duration":{"type":"number","description":"How long it ran, in seconds."},` +
			`"working_dir":{"type":"string","description":"Where it ran."}`,
		aliases: aliases{{"env_vars", "env", nil}, {"cwd", "working_dir", nil}},
		run:     runBash,
		plan:    planBash,
	})
}

func (p bashParams) check() error {
	switch {
	case strings.TrimSpace(p.Command) == "":
		return invalid("Give a command line.", "Command is required")
	case strings.ContainsRune(p.Command, 0):
		return invalid("Give a command line without it.", "Invalid command: it contains a NUL byte")
	case p.Timeout < 1 || p.Timeout > maxSeconds:
		return invalid(fmt.Sprintf("Give 1 to %d seconds.", maxSeconds), "Invalid timeout: %d", p.Timeout)
	}
	for name, value := range p.Env {
		if !validName(name) {
			return invalid("Use letters, digits and underscores.", "Invalid variable name: %q", name)
		}
		switch value.(type) {
		case string, float64, bool:
		default:
			return invalid("Give text as its value.", "Invalid value of variable %s", name)
		}
	}
	return nil
}

// planBash shows the command line: what it changes cannot be known.
func planBash(_ context.Context, deps Deps, p bashParams) (*tool.Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if _, err := p.dir(deps.Workspace); err != nil {
		return nil, err
	}
	return &tool.Plan{Preview: "$ " + p.Command + "\n"}, nil
}

// dir is the absolute path of the working directory.
func (p bashParams) dir(ws *workspace.Workspace) (string, error) {
	if p.WorkingDir == "" {
		return ws.Root(), nil
	}
	info, err := ws.Stat(p.WorkingDir)
	if err == nil && !info.IsDir() {
		err = tool.Errorf(tool.NotADirectory, "not a directory").Suggest("Name a directory.")
	}
	if err != nil {
		return "", pathError(err, p.WorkingDir)
	}
	return ws.Check(p.WorkingDir, workspace.Read)
}

func runBash(ctx context.Context, deps Deps, call *tool.Call, p bashParams) (*outcome, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	dir, err := p.dir(deps.Workspace)
	if err != nil {
		return nil, err
	}
	env, err := p.environment(ctx, call)
	if err != nil {
		return nil, err
	}
	o := &outcome{metadata: facts{"working_dir": dir}}
	c := deps.command(call, append(deps.shell(), guarded(p.Command)), dir, &o.about)
	c.Env, c.Timeout = proc.Environ(env), time.Duration(p.Timeout)*time.Second
	ended, err := proc.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	p.report(o, ended)
	return o, p.failure(deps, ended)
}

// command is one that a tool runs; what is said of its confinement goes into
// about.
func (d Deps) command(call *tool.Call, argv []string, dir string, about *map[string]any) proc.Command {
	c := proc.Command{Argv: argv, Dir: dir, Env: proc.Environ(nil), Cap: d.OutputCap, SpillName: fmt.Sprintf("tool_step_%04d", call.Step)}
	if call.ArtifactDir != "" {
		c.SpillDir = filepath.Join(call.ArtifactDir, "logs")
		if rel, err := filepath.Rel(d.Workspace.Root(), c.SpillDir); err == nil && filepath.IsLocal(rel) {
			c.SpillRoot = d.Workspace.Root()
		}
	}
	if d.Prepare != nil {
		c.Prepare = func(cmd *exec.Cmd) error {
			said, err := d.Prepare(cmd)
			*about = said
			return err
		}
	}
	return c
}

// shell is what runs command lines.
func (d Deps) shell() []string {
	if runtime.GOOS == "windows" && d.Shell == "" {
		if path, err := proc.LookPath("cmd.exe", d.Workspace.Root()); err == nil {
			return []string{path, "/d", "/c"}
		}
	}
	for _, name := range []string{d.Shell, "bash", "sh"} {
		if name == "" {
			continue
		}
		if path, err := proc.LookPath(name, d.Workspace.Root()); err == nil {
			return []string{path, "-c"}
		}
	}
	return []string{"/bin/sh", "-c"}
}

// guarded keeps a command line from being the shell's own option.
func guarded(command string) string {
	if strings.HasPrefix(command, "-") || strings.HasPrefix(command, "+") {
		return " " + command
	}
	return command
}

// environment is what the command gets beyond the usual: the session's
// variables, and the call's.
func (p bashParams) environment(ctx context.Context, call *tool.Call) (map[string]string, error) {
	env, err := sessionVariables(ctx, call)
	if err != nil {
		return nil, err
	}
	for name, value := range p.Env {
		env[name] = fmt.Sprint(value)
	}
	return env, nil
}

// timeoutExit is the exit code of a command that was ended, as timeout(1)
// gives it.
const timeoutExit = 124

func (p bashParams) report(o *outcome, ended *proc.Result) {
	stdout, stderr := ended.Stdout.String(), ended.Stderr.String()
	code := ended.ExitCode
	if ended.TimedOut {
		code = timeoutExit
	}
	o.set("exit_code", code)
	o.set("stdout", strings.ToValidUTF8(stdout, "\uFFFD"))
	o.set("stderr", strings.ToValidUTF8(stderr, "\uFFFD"))
	o.set("duration", ended.Duration.Seconds())
	o.output = stdout
	if stderr != "" {
		o.output = paragraph(stdout) + "stderr:\n" + stderr
	}
	o.truncated = ended.Stdout.Truncated() || ended.Stderr.Truncated()
	for _, stream := range []struct {
		name string
		proc.Output
	}{{"stdout", ended.Stdout}, {"stderr", ended.Stderr}} {
		if stream.Path != "" {
			o.artifacts = append(o.artifacts, tool.Artifact{Name: stream.name, Path: stream.Path, Bytes: stream.PathBytes})
		}
	}
}

// paragraph ends a text in a newline, unless there is none.
func paragraph(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// failure tells why a command failed, with what it printed; nil when it did
// not.
func (p bashParams) failure(deps Deps, ended *proc.Result) error {
	printed := ""
	for _, text := range []string{ended.Stderr.String(), ended.Stdout.String()} {
		if text = strings.TrimRight(text, "\n"); text != "" {
			printed += "\n" + text
		}
	}
	switch {
	case ended.Cancelled:
		return tool.Errorf(tool.Cancelled, "Command was cancelled%s", printed).
			Suggest("Call again if the result is still wanted.")
	case ended.TimedOut:
		return tool.Errorf(tool.Timeout, "Command timed out after %d seconds%s", p.Timeout, printed).
			Suggest("Give it more time with timeout (up to %d), or do less in one command.", maxSeconds)
	case ended.ExitCode != 0:
		return tool.Errorf(tool.CommandFailed, "Command failed with exit code %d%s", ended.ExitCode, printed).
			Suggest("%s", deps.advise(ended, "Read what it printed, correct the command and try again."))
	}
	return nil
}

// advise puts what the sandbox is behind before other advice.
func (d Deps) advise(ended *proc.Result, next string) string {
	if d.Denied != nil {
		if said := d.Denied(ended.Stderr.String() + "\n" + ended.Stdout.String()); said != "" {
			return said + " " + next
		}
	}
	return next
}
