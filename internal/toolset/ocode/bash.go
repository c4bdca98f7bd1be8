package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	maxSeconds = 3600
)

type bashParams struct {
	Command    string              `json:"command"`
	WorkingDir string              `json:"working_dir"`
	Timeout    schema.Integer      `json:"timeout"`
	Env        map[string]envValue `json:"env"`
}

// envValue is a variable's value: a string, or a number or boolean as written.
type envValue struct {
	text string
	ok   bool // false for null, lists and objects
}

// UnmarshalJSON implements json.Unmarshaler.
func (v *envValue) UnmarshalJSON(data []byte) error {
	v.text, v.ok = string(data), data[0] != 'n' && data[0] != '[' && data[0] != '{'
	if data[0] == '"' {
		return json.Unmarshal(data, &v.text)
	}
	return nil
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
		if !value.ok {
			return invalid("Give text as its value.", "Invalid value of variable %s", name)
		}
	}
	return nil
}

// planBash shows the command line: its changes cannot be predicted.
func planBash(_ context.Context, deps Deps, p bashParams) (*tool.Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if _, err := p.dir(deps.Workspace); err != nil {
		return nil, err
	}
	return &tool.Plan{Preview: "$ " + p.Command + "\n"}, nil
}

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
	c := proc.Command{
		Argv: append(kit.Shell(deps.Workspace.Root(), "", "bash", "sh"), kit.ShellArgument(p.Command)),
		Dir:  dir, Env: proc.Environ(env),
		Timeout: time.Duration(p.Timeout) * time.Second, Cap: deps.OutputCap, Prepare: o.Confining(deps.Prepare),
	}
	c.Spill(deps.Workspace.Root(), call.ArtifactDir, call.Step)
	ended, err := proc.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	p.report(o, ended)
	return o, p.failure(deps, ended)
}

func (p bashParams) environment(ctx context.Context, call *tool.Call) (map[string]string, error) {
	env, err := sessionVariables(ctx, call)
	if err != nil {
		return nil, err
	}
	for name, value := range p.Env {
		env[name] = value.text
	}
	return env, nil
}

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
	o.Ran(ended)
}

// paragraph adds a newline unless text is empty or has one.
func paragraph(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// failure returns why a command failed, with its output; nil if it succeeded.
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
			Suggest("%s", kit.Advise(deps.Denied, ended, "Check the output, correct the command and try again."))
	}
	return nil
}
