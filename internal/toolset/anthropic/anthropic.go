// Package anthropic is the plugin of the toolset anthropic: client tools of Anthropic's API
// (bash_20250124, text_editor_20250728, memory_20250818) and of the agent toolset of 2026-04-01.
// The tool bash takes what either does.
package anthropic

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
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
func Plugin() sdk.Plugin { return hands.Plugin("anthropic", Version, New) }

// New returns the tools.
func New(deps hands.Deps) []tool.Tool {
	c := hands.Contract(toolspec.Read(files, nil))
	return []tool.Tool{
		kit.Commander(c, deps, "bash", runBash, planBash, bashInput.argv),
		kit.Tool(c, deps, "str_replace_based_edit_tool", runEditor, planEditor),
		kit.Tool(c, deps, "memory", runMemory, nil),
		kit.Tool(c, deps, "read", runRead, nil), kit.Tool(c, deps, "write", runWrite, planWrite),
		kit.Tool(c, deps, "edit", runEdit, planEdit),
		kit.Tool(c, deps, "glob", runGlob, nil), kit.Tool(c, deps, "grep", runGrep, nil),
	}
}

// Limits of the agent toolset's bash, in bytes and milliseconds.
const (
	outputLimit     = 100 << 10
	defaultTimeout  = 120_000
	mostTimeout     = 600_000
	truncatedNotice = "[output truncated]"
)

type bashInput struct {
	Command string `json:"command"`
	Restart bool   `json:"restart"`
	Timeout int64  `json:"timeout_ms"`
}

// argv returns the command for rules about commands.
func (in bashInput) argv() []string {
	if in.Command == "" {
		return nil
	}
	return []string{"bash", "-c", in.Command}
}

func planBash(_ context.Context, _ hands.Deps, in bashInput) (*tool.Plan, error) {
	return hands.PlanCommand(in.Command), nil
}

func runBash(ctx context.Context, deps hands.Deps, call *tool.Call, in bashInput) (*hands.Outcome, error) {
	shell := deps.Shell(call)
	if in.Restart {
		shell.Restart()
		if in.Command == "" {
			return hands.Say("bash session restarted"), nil
		}
	}
	if in.Command == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "bash: command is required")
	}
	if err := hands.CheckCommand(in.Command); err != nil {
		return nil, err
	}
	ran, err := shell.Run(ctx, in.Command, hands.Milliseconds(in.Timeout, defaultTimeout, mostTimeout))
	if err != nil {
		return nil, err
	}
	out := hands.Say(strings.TrimLeft(ran.Text, "\n"))
	if over := len(out.Text) - outputLimit; over > 0 || ran.Omitted > 0 {
		out.Text = truncatedNotice + "\n" + truncate.TrimStart(out.Text[max(over, 0):])
		out.Truncated = true
	}
	switch {
	case ran.TimedOut:
		return out, tool.Errorf(tool.Timeout, "%s\n[timed out]\nsession restarted after timeout", out.Text)
	case ran.Ended:
		return out, tool.Errorf(tool.CommandFailed, "%sbash: bash session terminated", out.Text).
			Suggest("The next command has a new shell; a command in parentheses, (exit 1), does not end it.")
	case ran.ExitCode != 0:
		return out, tool.Errorf(tool.CommandFailed, "%s\nexit code: %d", strings.TrimSuffix(out.Text, "\n"), ran.ExitCode)
	}
	return out, nil
}

func fileError(what, name string, err error) error {
	e := tool.AsError(err)
	text := map[tool.Code]string{
		tool.NotFound: "no such file or directory", tool.PermissionDenied: "permission denied",
		tool.NotADirectory: "not a directory", tool.IsDirectory: "is a directory",
	}[e.Code]
	switch {
	case e.Code == tool.PathOutsideWorkspace:
		return tool.Errorf(e.Code, "%s: path %q is outside the session's working directory", what, name)
	case text == "":
		text = e.Message
	}
	return tool.Errorf(e.Code, "%s %s: %s", what, name, text).Suggest("%s", e.Suggestion).With("path", name)
}

// numbered returns lines after their numbers, starting with first.
func numbered(lines []string, first int, format string) string {
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, format, first+i, line)
	}
	return b.String()
}
