package cliagent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// lastCommandKey is where the session's last command is kept.
const lastCommandKey = "last_command"

// previousCommand is what is kept of a command.
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

func lastCommand(deps Deps) tool.Tool {
	return newTool(deps, &tool.Definition{
		Name:  "terminal_last_command",
		Title: "Show the last shell command",
		Description: "Shows the command that run_in_terminal ran last in this session, also one that failed, with what it printed. Nothing is run. " +
			"Returns: command and output, and in metadata command, exit_code and executed_at (UTC).",
		Category:   "terminal",
		Parameters: json.RawMessage(`{"type": "object", "properties": {}, "additionalProperties": false}`),
		Returns: returns(`
      "command": {"type": "string", "description": "The command line."},
      "exit_code": {"type": "integer", "description": "Its exit code."},
      "executed_at": {"type": "string", "description": "When it was started, as RFC 3339."}`),
		Risk:       tool.ReadOnly,
		Idempotent: true,
		Examples:   []tool.Example{{Params: json.RawMessage(`{}`)}},
	}, runLastCommand)
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
