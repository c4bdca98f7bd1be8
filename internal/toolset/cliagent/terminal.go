package cliagent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	maxCommandSeconds = 300
	timeoutExit       = 124
)

type terminalParams struct {
	Command string  `json:"command"`
	Timeout integer `json:"timeout_seconds"`
}

type terminalMetadata struct {
	ExitCode    int   `json:"exit_code"`
	StdoutLines int64 `json:"stdout_lines"`
	StderrLines int64 `json:"stderr_lines"`
}

func (p terminalParams) check() error {
	if strings.TrimSpace(p.Command) == "" {
		return tool.Errorf(codeInvalidParameter, "Parameter 'command' must not be empty").
			Suggest("Give a command line.")
	}
	if strings.ContainsRune(p.Command, 0) {
		return tool.Errorf(codeInvalidParameter, "Parameter 'command' contains a NUL byte").
			Suggest("Give a command line without it.")
	}
	return nil
}

// planCommand shows the command line: its changes cannot be predicted.
func planCommand(_ context.Context, _ Deps, p terminalParams) (*tool.Plan, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	return &tool.Plan{Preview: "$ " + p.Command + "\n"}, nil
}

func runCommand(ctx context.Context, deps Deps, call *tool.Call, p terminalParams) (*outcome, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	sh := shellOf(deps)
	o := &outcome{}
	c := proc.Command{
		Argv: append(slices.Clone(sh), kit.ShellArgument(p.Command)), Dir: deps.Workspace.Root(), Env: proc.Environ(nil),
		Timeout: time.Duration(p.Timeout) * time.Second, Cap: deps.OutputCap, Prepare: o.Confining(deps.Prepare),
	}
	c.Spill(c.Dir, call.ArtifactDir, call.Step)
	started := time.Now()
	ended, err := proc.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	p.report(o, ended)
	remember(ctx, call, p, started, ended)
	return o, p.failure(deps, sh, ended)
}

// report fills in what successes and failures have in common.
func (p terminalParams) report(o *outcome, ended *proc.Result) {
	o.metadata = terminalMetadata{exitCode(ended), ended.Stdout.Lines, ended.Stderr.Lines}
	o.Ran(ended)
	o.output = "Command output:\n" + section("", ended.Stdout.String()) +
		section("Error output:\n", ended.Stderr.String())
}

// section returns text under a heading, ending in one newline; "" if empty.
func section(heading, text string) string {
	if text == "" {
		return ""
	}
	return heading + strings.TrimSuffix(text, "\n") + "\n"
}

func exitCode(ended *proc.Result) int {
	if ended.TimedOut {
		return timeoutExit
	}
	return ended.ExitCode
}

// failure returns why a command failed, with its output; nil if it succeeded.
func (p terminalParams) failure(deps Deps, sh shell, ended *proc.Result) error {
	stdout, stderr := ended.Stdout.String(), ended.Stderr.String()
	switch {
	case ended.Cancelled:
		return tool.Errorf(tool.Cancelled, "Command was cancelled%s", streams("\n", stderr, stdout)).
			Suggest("Call again if the result is still wanted.")
	case ended.TimedOut:
		return tool.Errorf(codeTimeout, "Command timed out after %d seconds%s", p.Timeout,
			streams("\n", stderr, stdout)).
			Suggest("Give it more time with timeout_seconds (up to %d), or do less in one command.", maxCommandSeconds)
	case ended.ExitCode == 0:
		return nil
	}
	if name := sh.missing(p.Command, ended); name != "" {
		rest := section("\nOutput:\n", stdout)
		return tool.Errorf(codeCommandNotFound, "Command '%s' not found%s", name, strings.TrimSuffix(rest, "\n")).
			Suggest("Check the spelling, or install %s.", name)
	}
	return tool.Errorf(codeCommandFailed, "Command failed with exit code %d:%s", ended.ExitCode,
		streams("\n", stderr, stdout)).
		Suggest("%s", kit.Advise(deps.Denied, ended, "Check the output, correct the command and try again.")).
		With("exit_code", ended.ExitCode)
}

// streams puts standard error first, then standard output under a heading.
func streams(before, stderr, stdout string) string {
	text := section("", stderr) + section("Output:\n", stdout)
	if text == "" {
		return ""
	}
	return before + strings.TrimSuffix(text, "\n")
}

// remember stores the command for terminal_last_command. Its errors do not fail the command.
func remember(ctx context.Context, call *tool.Call, p terminalParams, started time.Time, ended *proc.Result) {
	last := previousCommand{
		Command:    p.Command,
		ExitCode:   exitCode(ended),
		ExecutedAt: started.UTC().Format(time.RFC3339),
		Output:     section("", ended.Stdout.String()) + section("Error output:\n", ended.Stderr.String()),
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := call.State(tool.SessionScope).Set(ctx, lastCommandKey, tool.MustMarshal(last)); err != nil &&
		call.Host != nil {
		call.Log(ctx, slog.LevelWarn, "the command was not remembered", slog.Any("error", err))
	}
}

const lastCommandKey = "last_command"

type previousCommand struct {
	Command    string `json:"command"`
	ExitCode   int    `json:"exit_code"`
	ExecutedAt string `json:"executed_at"`
	Output     string `json:"output"`
}

type lastCommandMetadata struct {
	Command    string `json:"command"`
	ExitCode   int    `json:"exit_code"`
	ExecutedAt string `json:"executed_at"`
}

func runLastCommand(ctx context.Context, _ Deps, call *tool.Call, _ struct{}) (*outcome, error) {
	data, ok, err := call.State(tool.SessionScope).Get(ctx, lastCommandKey)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, tool.Errorf(codeNoPreviousCommand, "No previous command in this session").
			Suggest("Run a command with run_in_terminal first.")
	}
	var last previousCommand
	if err := json.Unmarshal(data, &last); err != nil {
		return nil, fmt.Errorf("the command that was kept cannot be read: %w", err)
	}
	return &outcome{
		output:   fmt.Sprintf("Last command: %s\nOutput: %s", last.Command, strings.TrimSuffix(last.Output, "\n")),
		metadata: lastCommandMetadata{last.Command, last.ExitCode, last.ExecutedAt},
	}, nil
}
