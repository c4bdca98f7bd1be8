// Package claude is the plugin of the toolset claude: Claude Code's tools for files, commands,
// lists and questions.
package claude

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/source/toolspec"
	"github.com/toolhost/toolhost/internal/text/truncate"
	"github.com/toolhost/toolhost/internal/toolset/hands"
	"github.com/toolhost/toolhost/internal/toolset/kit"
	"github.com/toolhost/toolhost/plugins/sdk"
)

// Version is the plugin's version.
const Version = "1.0.0"

//go:embed tools
var files embed.FS

// Plugin returns the tools as a plugin.
func Plugin() sdk.Plugin { return hands.Plugin("claude", Version, New) }

// New returns the tools.
func New(deps hands.Deps) []tool.Tool {
	c := hands.Contract(toolspec.Read(files, nil))
	return []tool.Tool{
		kit.Commander(c, deps, "Bash", runBash, planBash, bashInput.argv),
		kit.Tool(c, deps, "TaskOutput", runTaskOutput, nil), kit.Tool(c, deps, "TaskStop", runTaskStop, nil),
		kit.Tool(c, deps, "Read", runRead, nil), kit.Tool(c, deps, "Edit", runEdit, planEdit),
		kit.Tool(c, deps, "Write", runWrite, planWrite),
		kit.Tool(c, deps, "Glob", runGlob, nil), kit.Tool(c, deps, "Grep", runGrep, nil),
		kit.Tool(c, deps, "NotebookEdit", runNotebook, planNotebook),
		kit.Tool(c, deps, "TodoWrite", runTodo, nil), kit.Tool(c, deps, "WebFetch", runFetch, nil),
		kit.Tool(c, deps, "AskUserQuestion", runAsk, nil),
	}
}

// number is an integer parameter, which the contract has as a JSON number.
type number = schema.Integer

// Limits of Claude Code, in milliseconds and characters.
const (
	defaultTimeout = 120_000
	mostTimeout    = 600_000
	maxOutput      = 30_000
)

type bashInput struct {
	Command    string `json:"command"`
	Timeout    number `json:"timeout"`
	Background bool   `json:"run_in_background"`
	Unconfined bool   `json:"dangerouslyDisableSandbox"`
}

// argv returns the command for rules about commands.
func (in bashInput) argv() []string { return []string{"bash", "-c", in.Command} }

func planBash(_ context.Context, _ hands.Deps, in bashInput) (*tool.Plan, error) {
	return hands.PlanCommand(in.Command), nil
}

func runBash(ctx context.Context, deps hands.Deps, call *tool.Call, in bashInput) (*hands.Outcome, error) {
	if err := hands.CheckCommand(in.Command); err != nil {
		return nil, err
	}
	if in.Unconfined {
		return nil, tool.Errorf(tool.Unsupported, "dangerouslyDisableSandbox: no command runs outside the sandbox here").
			Suggest("Leave it out; what commands may do stands in the user's agent.hcl.")
	}
	if in.Background {
		task, err := deps.Tasks.Start(ctx, deps.Task(call, in.Command, deps.Workspace.Root(), deps.Bash(in.Command, false)))
		if err != nil {
			return nil, err
		}
		return hands.Say("Command running in background with ID: " + task.ID), nil
	}
	limit := hands.Milliseconds(int64(in.Timeout), defaultTimeout, mostTimeout)
	ran, err := deps.Shell(call).Run(ctx, in.Command, limit)
	if err != nil {
		return nil, err
	}
	text, cut := shortened(strings.Trim(ran.Text, "\n"))
	out := hands.Say(text)
	out.Truncated = cut || ran.Omitted > 0
	switch {
	case ran.TimedOut:
		return out, tool.Errorf(tool.Timeout, "Command timed out after %s\n%s", limit.Round(time.Second), text).
			Suggest("The next command has a new shell, in the workspace. Give it more time, or run_in_background.")
	case ran.Ended:
		return out, tool.Errorf(tool.CommandFailed, "The command ended its shell\n%s", text).
			Suggest("The next command has a new shell; a command in parentheses, (exit 1), does not end it.")
	case ran.ExitCode != 0:
		return out, tool.Errorf(tool.CommandFailed, "Exit code %d\n%s", ran.ExitCode, text)
	}
	return out, nil
}

func shortened(text string) (string, bool) {
	if len(text) <= maxOutput {
		return text, false
	}
	head, tail := truncate.Head(text, maxOutput/2), truncate.TrimStart(text[len(text)-maxOutput/2:])
	left := strings.Count(text[len(head):len(text)-len(tail)], "\n")
	return fmt.Sprintf("%s\n\n... [%d lines truncated] ...\n\n%s", head, left, tail), true
}

type taskInput struct {
	ID      string `json:"task_id"`
	Shell   string `json:"shell_id"`
	Block   bool   `json:"block"`
	Timeout number `json:"timeout"`
}

func (in taskInput) task(deps hands.Deps, call *tool.Call) (*background.Task, error) {
	id := in.ID
	if id == "" {
		id = in.Shell
	}
	t, err := deps.Tasks.Get(id)
	if err != nil || t.Session != call.Session {
		return nil, tool.Errorf(tool.NotFound, "No task found with ID: %s", id).
			Suggest("Use the ID that Bash gave when it started the command.")
	}
	return t, nil
}

func runTaskOutput(ctx context.Context, deps hands.Deps, call *tool.Call, in taskInput) (*hands.Outcome, error) {
	t, err := in.task(deps, call)
	if err != nil {
		return nil, err
	}
	status := "success"
	if in.Block {
		waiting, cancel := context.WithTimeout(ctx, hands.Milliseconds(int64(in.Timeout), 30_000, mostTimeout))
		defer cancel()
		if t, err = deps.Tasks.Wait(waiting, t.ID); err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	if !t.Done() {
		status = map[bool]string{true: "timeout", false: "not_ready"}[in.Block]
	}
	printed, err := deps.Tasks.Output(t.ID)
	if err != nil {
		return nil, err
	}
	text, cut := shortened(strings.TrimSuffix(printed.Stdout.String()+printed.Stderr.String(), "\n"))
	parts := []string{tagged("retrieval_status", status), tagged("task_id", t.ID), tagged("task_type", "local_bash"),
		tagged("status", string(t.State))}
	if t.ExitCode != nil {
		parts = append(parts, tagged("exit_code", fmt.Sprint(*t.ExitCode)))
	}
	if text != "" {
		parts = append(parts, tagged("output", "\n"+text+"\n"))
	}
	out := hands.Say(strings.Join(parts, "\n\n"))
	out.Truncated = cut || printed.Stdout.Truncated() || printed.Stderr.Truncated()
	return out, nil
}

func tagged(name, text string) string { return "<" + name + ">" + text + "</" + name + ">" }

func runTaskStop(ctx context.Context, deps hands.Deps, call *tool.Call, in taskInput) (*hands.Outcome, error) {
	t, err := in.task(deps, call)
	if err != nil {
		return nil, err
	}
	if t.Done() {
		return nil, tool.Errorf(tool.Conflict, "Task %s is not running (status: %s)", t.ID, t.State)
	}
	if _, _, err := deps.Tasks.Kill(ctx, t.ID); err != nil {
		return nil, err
	}
	return hands.Say(string(tool.MustMarshal(struct {
		Message string `json:"message"`
		ID      string `json:"task_id"`
		Type    string `json:"task_type"`
	}{fmt.Sprintf("Successfully stopped task: %s (%s)", t.ID, t.Title), t.ID, "local_bash"}))), nil
}
