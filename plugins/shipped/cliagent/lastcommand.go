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
