package codex

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/toolset/hands"
)

// shellInput is the action of the Responses API's tool shell.
type shellInput struct {
	Commands []string `json:"commands"`
	Timeout  number   `json:"timeout_ms"`
	Most     number   `json:"max_output_length"`
}

// argv returns the commands for rules about commands.
func (in shellInput) argv() []string { return []string{"bash", "-c", strings.Join(in.Commands, "\n")} }

func planShell(_ context.Context, _ hands.Deps, in shellInput) (*tool.Plan, error) {
	return hands.PlanCommand(strings.Join(in.Commands, "\n$ ")), nil
}

type shellOutput struct {
	Stdout  string       `json:"stdout"`
	Stderr  string       `json:"stderr"`
	Outcome shellOutcome `json:"outcome"`
}

type shellOutcome struct {
	Type string `json:"type"`
	Code *int   `json:"exit_code,omitempty"`
}

const mostOutput = 1 << 20 // of each stream, in bytes

// runShell runs commands in order, each in its own shell, until one times out.
func runShell(ctx context.Context, deps hands.Deps, call *tool.Call, in shellInput) (*hands.Outcome, error) {
	for _, command := range in.Commands {
		if err := hands.CheckCommand(command); err != nil {
			return nil, err
		}
	}
	most := min(int(in.Most), mostOutput)
	if most <= 0 {
		most = outputTokens * bytesPerToken
	}
	out := &hands.Outcome{}
	outputs := []shellOutput{}
	for _, command := range in.Commands {
		ended, err := deps.Run(ctx, call, out, proc.Command{
			Argv: deps.Bash(command, false), Dir: deps.Workspace.Root(), Cap: most,
			Timeout: hands.Milliseconds(int64(in.Timeout), commandTimeout, mostTimeout),
		})
		if err != nil {
			return nil, err
		}
		o := shellOutput{text(ended.Stdout), text(ended.Stderr), shellOutcome{"exit", &ended.ExitCode}}
		if ended.TimedOut || ended.Cancelled {
			o.Outcome = shellOutcome{Type: "timeout"}
		}
		if outputs = append(outputs, o); ended.TimedOut || ended.Cancelled {
			break
		}
	}
	data, err := json.Marshal(outputs)
	out.Text = string(data)
	return out, err
}

func text(o proc.Output) string { return strings.ToValidUTF8(o.String(), "\uFFFD") }
