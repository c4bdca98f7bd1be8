package taskfile

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/show"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/source/taskprotocol"
)

// InView reports that only processes make a call's changes.
func (r *runCommand) InView() bool { return true }

// InView reports that only processes make a call's changes.
func (k *taskTool) InView() bool { return true }

// Plan implements tool.Planner: the commands behind the name.
func (r *runCommand) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	var params struct {
		Command string `json:"command"`
		Args    string `json:"args"`
	}
	if err := call.Decode(&params); err != nil {
		return nil, err
	}
	words, err := r.taskfile.words(ctx, params.Args)
	if err != nil {
		return nil, err
	}
	preview, err := r.taskfile.preview(ctx, params.Command)
	if len(words) > 0 {
		preview = "CLI_ARGS: " + show.Argv(words) + "\n" + preview
	}
	return &tool.Plan{Preview: preview}, err
}

// Plan implements tool.Planner.
func (k *taskTool) Plan(ctx context.Context, call *tool.Call) (*tool.Plan, error) {
	words, names, err := k.read(ctx, call)
	if err != nil {
		return nil, err
	}
	preview := "$ task " + show.Argv(words) + "\n"
	for _, name := range names {
		part, err := k.taskfile.preview(ctx, name)
		switch {
		case tool.CodeOf(err) == tool.NotFound: // may not matter, as with --list
			part = "command " + show.Word(name) + ": not found\n"
		case err != nil:
			return nil, err
		}
		preview += part
	}
	return &tool.Plan{Preview: preview}, nil
}

// preview returns what a command of the Taskfile, and those that it calls, would run.
func (t *Taskfile) preview(ctx context.Context, name string) (string, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", t.notFound(name, nil)
	}
	command, err := t.command("--describe", "--steps="+name)
	if err != nil {
		return "", err
	}
	command.Timeout, command.Cap = describeTimeout, listingCap
	result, err := proc.Run(ctx, command)
	if err != nil {
		return "", err
	}
	if err := t.ended(result); err != nil {
		return "", err
	}
	listing := new(protocol.Listing)
	if result.Stdout.Truncated() || json.Unmarshal(result.Stdout.Head, listing) != nil {
		return "", tool.Errorf(tool.Unavailable, "%s did not say what the command %q of %s runs: %s", BinaryName, name,
			t.options.Path, lastLine(result.Stderr)).
			Suggest("Check that %s is of the same version as toolhost.", BinaryName)
	}
	switch listing.Kind {
	case protocol.OK:
	case protocol.NotFound:
		return "", t.notFound(name, nil)
	default:
		return "", t.broken(listing.Problem)
	}
	var b strings.Builder
	for _, step := range listing.Steps {
		where := ""
		if step.File != "" {
			where = fmt.Sprintf(" (%s:%d)", show.Line(t.shown(step.File)), step.Line)
		}
		fmt.Fprintf(&b, "command %s%s:\n", show.Word(step.Name), where)
		for _, line := range step.Lines {
			b.WriteString("  " + strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\n", "\n    ") + "\n")
		}
	}
	return b.String(), nil
}
