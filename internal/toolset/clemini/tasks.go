package clemini

import (
	"context"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/subagent"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const defaultWaitSeconds = 30

type killResult struct {
	TaskID  string `json:"task_id"`
	Status  string `json:"status"`
	Success bool   `json:"success"`
}

type killInput struct {
	ID string `json:"task_id"`
}

func runKill(ctx context.Context, deps Deps, _ *tool.Call, in killInput) (*outcome, error) {
	_, already, err := deps.Tasks.Kill(ctx, in.ID)
	if err != nil {
		return nil, taskError(err, in.ID)
	}
	status := "killed"
	if already {
		status = "already_completed"
	}
	return &outcome{data: killResult{in.ID, status, true}}, nil
}

func taskError(err error, id string) error {
	if tool.CodeOf(err) != tool.NotFound {
		return err
	}
	return tool.Errorf(tool.NotFound, "Task not found: %s", id).
		Suggest("Use the task_id that bash or task gave when it started the task.").With("task_id", id)
}

type taskOutputInput struct {
	ID      string  `json:"task_id"`
	Wait    bool    `json:"wait"`
	Timeout integer `json:"timeout"`
}

type taskOutputResult struct {
	TaskID   string `json:"task_id"`
	Status   string `json:"status"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
}

// Default implements kit.Defaults.
func (in *taskOutputInput) Default() { in.Timeout = defaultWaitSeconds }

func runTaskOutput(ctx context.Context, deps Deps, call *tool.Call, in taskOutputInput) (*outcome, error) {
	if in.Wait {
		waiting, cancel := context.WithTimeout(ctx, time.Duration(in.Timeout)*time.Second)
		defer cancel()
		if _, err := deps.Tasks.Wait(waiting, in.ID); err != nil {
			return nil, taskError(err, in.ID)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	// The state is read before the output, so that the output of an ended task is complete.
	t, err := deps.Tasks.Get(in.ID)
	if err != nil {
		return nil, taskError(err, in.ID)
	}
	o, err := deps.Tasks.Output(in.ID)
	if err != nil {
		return nil, taskError(err, in.ID)
	}
	r := taskOutputResult{in.ID, string(t.State), t.ExitCode, text(o.Stdout), text(o.Stderr)}
	if t.State == background.Failed || t.State == background.Lost || t.State == background.Killed && t.Reason != "killed" {
		r.Stderr = strings.TrimSpace(r.Stderr + "\n" + t.Reason)
	}
	return &outcome{data: r, Outcome: kit.Outcome{Truncated: o.Stdout.Truncated() || o.Stderr.Truncated()}}, nil
}

type taskInput struct {
	Prompt     string `json:"prompt"`
	Background bool   `json:"background"`
}

type taskResult struct {
	Status   string `json:"status"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
}

type taskStarted struct {
	TaskID string `json:"task_id"`
	Status string `json:"status"`
	Prompt string `json:"prompt"`
}

func runTask(ctx context.Context, deps Deps, call *tool.Call, in taskInput) (*outcome, error) {
	agent, err := deps.Agents.Find("")
	if err != nil {
		return nil, err
	}
	spec, err := agent.Spec(in.Prompt,
		subagent.Place{Root: deps.Workspace.Root(), Trees: deps.Trees, Confine: deps.Confine})
	if err != nil {
		return nil, err
	}
	if in.Background {
		return in.start(ctx, deps, call, spec)
	}
	return runAgent(ctx, deps, call, spec)
}

func (in taskInput) start(ctx context.Context, deps Deps, call *tool.Call, spec background.Spec) (*outcome, error) {
	spec.Session, spec.Call, spec.Kind, spec.Prefix, spec.Title = call.Session, call.RequestID, "task", "task_",
		bashInput{Command: in.Prompt}.title()
	started, err := deps.Tasks.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &outcome{data: taskStarted{started.ID, string(background.Running), in.Prompt}}, nil
}

func runAgent(ctx context.Context, deps Deps, call *tool.Call, spec background.Spec) (*outcome, error) {
	c := spec.Command()
	c.Cap, c.OnLine = background.DefaultOutputCap, progress(ctx, call)
	c.Spill(deps.Workspace.Root(), call.ArtifactDir, call.Step)
	ended, err := proc.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	r := taskResult{"success", text(ended.Stdout), text(ended.Stderr), ended.ExitCode}
	if ended.ExitCode != 0 {
		r.Status = "failed"
	}
	out := &outcome{data: r}
	out.Ran(ended)
	return out, interrupted(ended, "Task", spec.Timeout)
}
