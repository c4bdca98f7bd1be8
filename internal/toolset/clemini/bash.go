package clemini

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/text/truncate"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	defaultSeconds = 120
	// titleLimit limits what listings show of a command, in bytes.
	titleLimit = 1 << 10
)

type bashInput struct {
	Command     string  `json:"command"`
	Description string  `json:"description"`
	Directory   string  `json:"working_directory"`
	Timeout     integer `json:"timeout_seconds"`
	Confirmed   bool    `json:"confirmed"`
	Background  bool    `json:"run_in_background"`

	dir string // the directory's absolute path
}

type bashResult struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

type startedResult struct {
	TaskID string `json:"task_id"`
	Status string `json:"status"`
}

// Default implements kit.Defaults.
func (in *bashInput) Default() { in.Timeout = defaultSeconds }

// shown returns the command for rules about commands.
func (in bashInput) shown() []string { return []string{"bash", "-c", in.Command} }

// check refuses what cannot be run, and sets the directory.
func (in *bashInput) check(deps Deps) (err error) {
	if strings.TrimSpace(in.Command) == "" || strings.ContainsRune(in.Command, 0) {
		return tool.Errorf(tool.InvalidArgument, "the command is empty, or contains a NUL byte").
			Suggest("Give a command line.")
	}
	if err := checkDirectory(deps.Workspace, in.Directory); err != nil {
		return err
	}
	in.dir = deps.Workspace.Root()
	if in.Directory != "" {
		in.dir, err = deps.Workspace.Check(in.Directory, workspace.Read)
	}
	return err
}

// planBash shows the command: its changes cannot be predicted.
func planBash(_ context.Context, deps Deps, in bashInput) (*tool.Plan, error) {
	if err := in.check(deps); err != nil {
		return nil, err
	}
	return &tool.Plan{Preview: "$ " + in.Command + "\n"}, nil
}

func runBash(ctx context.Context, deps Deps, call *tool.Call, in bashInput) (*outcome, error) {
	if err := in.check(deps); err != nil {
		return nil, err
	}
	if err := in.clear(ctx, deps, call); err != nil {
		return nil, err
	}
	if in.Background {
		return in.start(ctx, deps, call)
	}
	return in.run(ctx, deps, call)
}

// argv returns the shell with the command.
func (in bashInput) argv() []string {
	shell, err := proc.LookPath("bash", "")
	if err != nil {
		shell = "/bin/sh"
	}
	return []string{shell, "-c", kit.ShellArgument(in.Command)}
}

func (in bashInput) title() string {
	return truncate.Shorten(in.Command, titleLimit)
}

func (in bashInput) start(ctx context.Context, deps Deps, call *tool.Call) (*outcome, error) {
	policy := deps.Confine.Policy(deps.Workspace.Root(), deps.Trees...)
	started, err := deps.Tasks.Start(ctx, background.Spec{
		Session: call.Session, Call: call.RequestID, Kind: "bash", Title: in.title(), Argv: in.argv(), Dir: in.dir,
		Env: proc.Environ(nil), Confine: &policy,
	})
	if err != nil {
		return nil, err
	}
	return &outcome{data: startedResult{started.ID, string(background.Running)}}, nil
}

func (in bashInput) run(ctx context.Context, deps Deps, call *tool.Call) (*outcome, error) {
	out := &outcome{}
	c := proc.Command{
		Argv: in.argv(), Dir: in.dir, Env: proc.Environ(nil), Timeout: time.Duration(in.Timeout) * time.Second,
		Cap: deps.OutputCap, OnLine: progress(ctx, call),
		Prepare: out.Confining(deps.Confine.ConfineTelling(deps.Workspace.Root(), deps.Trees...)),
	}
	c.Spill(deps.Workspace.Root(), call.ArtifactDir, call.Step)
	ended, err := proc.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	out.data = bashResult{text(ended.Stdout), text(ended.Stderr), ended.ExitCode}
	out.Ran(ended)
	return out, interrupted(ended, "Command", time.Duration(in.Timeout)*time.Second)
}

func text(o proc.Output) string { return strings.ToValidUTF8(o.String(), "\uFFFD") }

// interrupted returns the failure of a command that was ended, nil for others.
func interrupted(ended *proc.Result, what string, limit time.Duration) error {
	var e *tool.Error
	switch {
	case ended.TimedOut:
		e = tool.Errorf(tool.Timeout, "%s timed out after %s", what, seconds(limit)).
			Suggest("Give it more time, or run it in the background. What it printed until then is in the context.")
	case ended.Cancelled:
		e = tool.Errorf(tool.Cancelled, "%s was cancelled", what).Suggest("Call again if the result is still wanted.")
	default:
		return nil
	}
	return e.With("stdout", text(ended.Stdout)).With("stderr", text(ended.Stderr)).With("exit_code", ended.ExitCode)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d seconds", int(d.Seconds())) }

const (
	// A command's first lines are passed on at once, then one in each pause: otherwise the command
	// would wait for its reader.
	progressLines = 20
	progressPause = 100 * time.Millisecond
)

// progress passes on lines that a command prints.
func progress(ctx context.Context, call *tool.Call) func(stream, line string) {
	var mu sync.Mutex
	var last time.Time
	lines := 0
	return func(_, line string) {
		mu.Lock()
		defer mu.Unlock()
		if lines++; lines > progressLines && time.Since(last) < progressPause {
			return
		}
		last = time.Now()
		call.Progress(ctx, tool.Progress{Done: float64(lines), Message: strings.ToValidUTF8(line, "\uFFFD")})
	}
}
