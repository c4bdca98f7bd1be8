package clemini

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/background"
	"github.com/toolhost/toolhost/host/excerpt"
	"github.com/toolhost/toolhost/host/proc"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

const (
	defaultSeconds = 120
	maxSeconds     = 24 * 60 * 60
	// longest is how long the host waits for a tool that has a limit of its
	// own.
	longest = (maxSeconds + 60) * time.Second
	// titleLimit bounds what listings show of a command, in bytes.
	titleLimit = 1 << 10
)

// bashTool is bash, which can say what command it would start.
type bashTool struct{ plannedTool }

func bash(deps *Deps) tool.Tool {
	return &bashTool{plannedTool{plan: planBash, contractTool: &contractTool{deps: deps, work: runBash, definition: &tool.Definition{
		Name: "bash", Title: "Run a shell command", Category: "execution",
		Description: "Run a shell command in a sandbox, without input, and wait for its end; or, with run_in_background, start it and go on. " +
			"A destructive command is not run but has to be confirmed: ask the user, and call again with confirmed. Some are never run. " +
			"Prefer read_file, grep, glob and edit for what they can do. " +
			"Returns: {stdout, stderr, exit_code} or {task_id, status} when run_in_background=true",
		Parameters: object(`{"type":"object","properties":{` +
			`"command":{"type":"string","minLength":1,"description":"The command, such as cargo test or gh issue view 42."},` +
			`"description":{"type":"string","description":"What the command does, for the log."},` +
			`"working_directory":{"type":"string","description":"Directory to run it in. (default: cwd)"},` +
			`"timeout_seconds":{"type":"integer","minimum":1,"maximum":86400,"description":"How long to wait for its end. (default: 120)","default":120},` +
			`"confirmed":{"type":"boolean","description":"Run a destructive command that was refused for want of a confirmation, and that the user has agreed to. (default: false)","default":false},` +
			`"run_in_background":{"type":"boolean","description":"Return at once with a task_id, for task_output and kill_shell. (default: false)","default":false}` +
			`},"required":["command"],"additionalProperties":false}`),
		Returns: returns(`"stdout":{"type":"string"},"stderr":{"type":"string"},"exit_code":{"type":"integer"},"task_id":{"type":"string"},"status":{"type":"string"},`+
			`"needs_confirmation":{"type":"boolean","description":"True when the command has to be confirmed."}`, `"stdout","stderr","exit_code"]},{"required":["task_id","status"`),
		Risk: tool.Dangerous, Permissions: []tool.Permission{tool.ShellExec}, Timeout: longest,
		Examples: []tool.Example{
			example("Run the tests.", `{"command":"cargo test --lib","description":"Run library tests"}`),
			example("Build in the background.", `{"command":"cargo build --release","run_in_background":true}`),
			example("A destructive command, after the user has agreed.", `{"command":"rm -rf target/","confirmed":true}`),
		},
	}}}}
}

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

// CommandLine implements tool.Commander.
func (t *bashTool) CommandLine(_ context.Context, call *tool.Call) ([]string, error) {
	var in bashInput
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	return []string{"bash", "-c", in.Command}, nil
}

func decodeBash(deps *Deps, call *tool.Call) (in bashInput, err error) {
	in.Timeout = defaultSeconds
	if err := call.Decode(&in); err != nil {
		return in, err
	}
	if strings.TrimSpace(in.Command) == "" || strings.ContainsRune(in.Command, 0) {
		return in, tool.Errorf(tool.InvalidArgument, "the command is empty, or contains a NUL byte").
			Suggest("Give a command line.")
	}
	if err := checkDirectory(deps.Workspace, in.Directory); err != nil {
		return in, err
	}
	in.dir = deps.Workspace.Root()
	if in.Directory != "" {
		in.dir, err = deps.Workspace.Check(in.Directory, workspace.Read)
	}
	return in, err
}

// planBash shows the command: what it changes cannot be known.
func planBash(_ context.Context, deps *Deps, call *tool.Call) (*tool.Plan, error) {
	in, err := decodeBash(deps, call)
	if err != nil {
		return nil, err
	}
	return &tool.Plan{Preview: "$ " + in.Command + "\n"}, nil
}

func runBash(ctx context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	in, err := decodeBash(deps, call)
	if err != nil {
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

// argv is the shell with the command.
func (in bashInput) argv() []string {
	shell, err := proc.LookPath("bash", "")
	if err != nil {
		shell = "/bin/sh"
	}
	command := in.Command
	if strings.HasPrefix(command, "-") || strings.HasPrefix(command, "+") {
		command = " " + command // or it would be the shell's own option
	}
	return []string{shell, "-c", command}
}

// title is what listings show.
func (in bashInput) title() string {
	return excerpt.Shorten(in.Command, titleLimit)
}

func (in bashInput) start(ctx context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	policy := deps.Confine.Policy(deps.Workspace.Root(), deps.Trees...)
	started, err := deps.Tasks.Start(ctx, background.Spec{
		Session: call.Session, Kind: "bash", Title: in.title(), Argv: in.argv(), Dir: in.dir, Env: proc.Environ(nil), Confine: &policy,
	})
	if err != nil {
		return nil, err
	}
	return &outcome{data: startedResult{started.ID, string(background.Running)}}, nil
}

func (in bashInput) run(ctx context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	out := &outcome{}
	c := proc.Command{
		Argv: in.argv(), Dir: in.dir, Env: proc.Environ(nil), Timeout: time.Duration(in.Timeout) * time.Second,
		Cap: deps.OutputCap, Prepare: deps.prepare(&out.about), OnLine: progress(ctx, call),
	}
	deps.keepOutput(&c, call)
	ended, err := proc.Run(ctx, c)
	if err != nil {
		return nil, err
	}
	r := bashResult{text(ended.Stdout), text(ended.Stderr), ended.ExitCode}
	out.data, out.truncated = r, ended.Stdout.Truncated() || ended.Stderr.Truncated()
	out.artifacts = append(artifact("stdout", ended.Stdout), artifact("stderr", ended.Stderr)...)
	return out, interrupted(ended, "Command", time.Duration(in.Timeout)*time.Second)
}

// text is a stream for a reader.
func text(o proc.Output) string { return strings.ToValidUTF8(o.String(), "\uFFFD") }

// interrupted is the failure of a command that did not come to its own end,
// nil for one that did.
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

// keepOutput has the whole of a long output written to the call's artifacts.
func (d *Deps) keepOutput(c *proc.Command, call *tool.Call) {
	if call.ArtifactDir == "" {
		return
	}
	c.SpillDir, c.SpillName = filepath.Join(call.ArtifactDir, "logs"), fmt.Sprintf("tool_step_%04d", call.Step)
	if rel, err := filepath.Rel(d.Workspace.Root(), c.SpillDir); err == nil && filepath.IsLocal(rel) {
		c.SpillRoot = d.Workspace.Root()
	}
}

func artifact(name string, o proc.Output) []tool.Artifact {
	if o.Path == "" {
		return nil
	}
	return []tool.Artifact{{Name: name, Path: o.Path, Bytes: o.PathBytes}}
}

const (
	// Of what a command prints, the first lines are handed on at once, and
	// then one in each pause: a command that prints much waits for its reader.
	progressLines = 20
	progressPause = 100 * time.Millisecond
)

// progress hands on lines that a command prints.
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
