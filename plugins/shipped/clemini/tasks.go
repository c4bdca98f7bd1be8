package clemini

import (
	"context"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/background"
	"github.com/toolhost/toolhost/host/proc"
	"github.com/toolhost/toolhost/host/subagent"
	"github.com/toolhost/toolhost/host/tool"
)

const defaultWaitSeconds = 30

func killShell(deps *Deps) tool.Tool {
	return &contractTool{deps: deps, work: runKill, definition: &tool.Definition{
		Name: "kill_shell", Title: "End a background task", Category: "execution",
		Description: "End a background task of bash or task, with everything that it started. Its output can still be read. " +
			"Returns: {task_id, status, success}",
		Parameters: object(`{"type":"object","properties":{` +
			`"task_id":{"type":"string","description":"The id that bash or task gave."}` +
			`},"required":["task_id"],"additionalProperties":false}`),
		Returns: returns(`"task_id":{"type":"string"},"status":{"type":"string","description":"killed or already_completed."},"success":{"type":"boolean"}`, `"task_id","status","success"`),
		Risk:    tool.Dangerous, Permissions: []tool.Permission{tool.ShellExec}, Idempotent: true, Timeout: time.Minute,
		Examples: []tool.Example{example("End a task.", `{"task_id":"abc123"}`)},
	}}
}

type killResult struct {
	TaskID  string `json:"task_id"`
	Status  string `json:"status"`
	Success bool   `json:"success"`
}

func runKill(ctx context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	var in struct {
		ID string `json:"task_id"`
	}
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
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

func taskOutput(deps *Deps) tool.Tool {
	return &contractTool{deps: deps, work: runTaskOutput, definition: &tool.Definition{
		Name: "task_output", Title: "Output of a background task", Category: "execution",
		Description: "Get what a background task has printed so far and whether it has ended, at once or after waiting for its end. " +
			"Of a stream of more than 1 MB the beginning and the end are given. " +
			"Returns: {task_id, status, exit_code, stdout, stderr}",
		Parameters: object(`{"type":"object","properties":{` +
			`"task_id":{"type":"string","description":"The id that bash or task gave."},` +
			`"wait":{"type":"boolean","description":"Wait for the end of the task. (default: false)","default":false},` +
			`"timeout":{"type":"integer","minimum":0,"maximum":86400,"description":"How many seconds to wait at most. (default: 30)","default":30}` +
			`},"required":["task_id"],"additionalProperties":false}`),
		Returns: returns(`"task_id":{"type":"string"},"status":{"type":"string","description":"running, completed, killed, timed_out, failed (it could not be started) or lost (it is not known how it ended)."},`+
			`"exit_code":{"type":"integer","description":"Once it has ended."},"stdout":{"type":"string"},"stderr":{"type":"string"}`, `"task_id","status","stdout","stderr"`),
		Risk: tool.ReadOnly, Permissions: []tool.Permission{tool.FileRead}, Idempotent: true, Timeout: longest,
		Examples: []tool.Example{
			example("Look at a task.", `{"task_id":"abc123"}`),
			example("Wait for its end.", `{"task_id":"abc123","wait":true,"timeout":5}`),
		},
	}}
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

func runTaskOutput(ctx context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	in := taskOutputInput{Timeout: defaultWaitSeconds}
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
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
	// First how it stands, then what it printed: so nothing is missing from
	// the output of a task that has ended.
	t, err := deps.Tasks.Get(in.ID)
	if err != nil {
		return nil, taskError(err, in.ID)
	}
	o, err := deps.Tasks.Output(in.ID)
	if err != nil {
		return nil, taskError(err, in.ID)
	}
	r := taskOutputResult{in.ID, string(t.State), t.ExitCode, text(o.Stdout), text(o.Stderr)}
	if t.State == background.Failed {
		r.Stderr = strings.TrimSpace(r.Stderr + "\n" + t.Reason)
	}
	return &outcome{data: r, truncated: o.Stdout.Truncated() || o.Stderr.Truncated()}, nil
}

func task(deps *Deps) tool.Tool {
	return &contractTool{deps: deps, work: runTask, definition: &tool.Definition{
		Name: "task", Title: "Delegate a task", Category: "execution",
		Description: "Give a task to another agent, which works on it in the same directory by itself and cannot ask anybody. " +
			"Say all that it has to know: it sees nothing of this conversation. With background several can work at the same time. " +
			"Returns: {status, stdout, stderr, exit_code} or {task_id, status, prompt} when background=true",
		Parameters: object(`{"type":"object","properties":{` +
			`"prompt":{"type":"string","minLength":1,"description":"The task, in full."},` +
			`"background":{"type":"boolean","description":"Return at once with a task_id, for task_output and kill_shell. (default: false)","default":false}` +
			`},"required":["prompt"],"additionalProperties":false}`),
		Returns: returns(`"status":{"type":"string","description":"success or failed; running in the background."},"stdout":{"type":"string","description":"What the agent answered."},`+
			`"stderr":{"type":"string"},"exit_code":{"type":"integer"},"task_id":{"type":"string"},"prompt":{"type":"string"}`,
			`"status","stdout","stderr","exit_code"]},{"required":["task_id","status","prompt"`),
		Risk: tool.Dangerous, Permissions: []tool.Permission{tool.ShellExec, tool.Network}, Timeout: longest,
		Examples: []tool.Example{
			example("Delegate, and wait for the answer.", `{"prompt":"Analyze the error handling in src/tools/bash.rs and suggest improvements"}`),
			example("Delegate, and go on.", `{"prompt":"Run the full test suite and report failures","background":true}`),
		},
	}}
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

func runTask(ctx context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	var in taskInput
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	agent, err := deps.Agents.Find("")
	if err != nil {
		return nil, err
	}
	spec, err := agent.Spec(in.Prompt, subagent.Place{Root: deps.Workspace.Root(), Trees: deps.Trees, Confine: deps.Confine})
	if err != nil {
		return nil, err
	}
	if in.Background {
		return in.start(ctx, deps, call, spec)
	}
	return runAgent(ctx, deps, call, spec)
}

func (in taskInput) start(ctx context.Context, deps *Deps, call *tool.Call, spec background.Spec) (*outcome, error) {
	spec.Session, spec.Kind, spec.Prefix, spec.Title = call.Session, "task", "task_", bashInput{Command: in.Prompt}.title()
	started, err := deps.Tasks.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &outcome{data: taskStarted{started.ID, string(background.Running), in.Prompt}}, nil
}

func runAgent(ctx context.Context, deps *Deps, call *tool.Call, spec background.Spec) (*outcome, error) {
	c := spec.Command()
	c.Cap, c.OnLine = background.DefaultOutputCap, progress(ctx, call)
	deps.keepOutput(&c, call)
	ended, err := proc.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	r := taskResult{"success", text(ended.Stdout), text(ended.Stderr), ended.ExitCode}
	if ended.ExitCode != 0 {
		r.Status = "failed"
	}
	out := &outcome{data: r, truncated: ended.Stdout.Truncated() || ended.Stderr.Truncated()}
	out.artifacts = append(artifact("stdout", ended.Stdout), artifact("stderr", ended.Stderr)...)
	return out, interrupted(ended, "Task", spec.Timeout)
}
