// Package codex is the plugin of the toolset codex: the Codex CLI's tools for commands, patches,
// plans and images, and the tools shell and apply_patch of OpenAI's Responses API.
package codex

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/session"
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
func Plugin() sdk.Plugin { return hands.Plugin("codex", Version, New) }

// New returns the tools.
func New(deps hands.Deps) []tool.Tool {
	c := hands.Contract(toolspec.Read(files, nil))
	c.Normalize = normalize
	n := &numbers{ids: make(map[int]string), next: 1000}
	return []tool.Tool{
		kit.Commander(c, deps, "exec_command", n.exec, planExec, execInput.argv),
		kit.Tool(c, deps, "write_stdin", n.writeStdin, nil),
		kit.Commander(c, deps, "shell_command", runShellCommand, planExec, execInput.argv),
		kit.Commander(c, deps, "shell", runShell, planShell, shellInput.argv),
		kit.Tool(c, deps, "apply_patch", runPatch, planPatch),
		kit.Tool(c, deps, "update_plan", runPlan, nil), kit.Tool(c, deps, "view_image", runImage, nil),
	}
}

// Limits of the Codex CLI, in milliseconds and tokens, of four bytes each.
const (
	leastYield     = 250
	execYield      = 10_000
	mostYield      = 30_000
	commandTimeout = 10_000
	mostTimeout    = 3_600_000
	outputTokens   = 10_000
	bytesPerToken  = 4
)

// number is an integer parameter, which the contract has as a JSON number.
type number = schema.Integer

// execInput has the parameters of exec_command, shell_command and write_stdin.
type execInput struct {
	Cmd         string `json:"cmd"`
	Command     string `json:"command"`
	Dir         string `json:"workdir"`
	Shell       string `json:"shell"`
	TTY         bool   `json:"tty"`
	Login       bool   `json:"login"`
	Yield       number `json:"yield_time_ms"`
	Timeout     number `json:"timeout_ms"`
	Tokens      number `json:"max_output_tokens"`
	Permissions string `json:"sandbox_permissions"`
	SessionID   number `json:"session_id"`
	Chars       string `json:"chars"`
}

func (in execInput) line() string { return cmp.Or(in.Cmd, in.Command) }

// argv returns the command for rules about commands.
func (in execInput) argv() []string { return []string{cmp.Or(in.Shell, "bash"), "-c", in.line()} }

func planExec(_ context.Context, _ hands.Deps, in execInput) (*tool.Plan, error) {
	return hands.PlanCommand(in.line()), nil
}

// prepare checks the parameters and finds the shell and directory.
func (in execInput) prepare(deps hands.Deps) (argv []string, dir string, err error) {
	if err := hands.CheckCommand(in.line()); err != nil {
		return nil, "", err
	}
	if in.Permissions != "" && in.Permissions != "use_default" {
		return nil, "", tool.Errorf(tool.Unsupported, "sandbox_permissions %q: no command runs outside the sandbox here",
			in.Permissions).Suggest("Leave it out; what commands may do stands in the user's agent.hcl.")
	}
	if dir, err = deps.Directory(in.Dir); err != nil {
		return nil, "", err
	}
	argv = deps.Bash(in.line(), in.Login)
	if in.Shell != "" {
		if argv[0], err = proc.LookPath(in.Shell, deps.Workspace.Root()); err != nil {
			return nil, "", err
		}
	}
	return argv, dir, nil
}

// numbers maps the numbers by which the model knows sessions.
type numbers struct {
	mu   sync.Mutex
	ids  map[int]string
	next int
}

func (n *numbers) add(id string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next++
	n.ids[n.next] = id
	return n.next
}

func (n *numbers) id(number int) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ids[number]
}

func (n *numbers) exec(ctx context.Context, deps hands.Deps, call *tool.Call, in execInput) (*hands.Outcome, error) {
	argv, dir, err := in.prepare(deps)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	spec := session.Spec{Spec: deps.Task(call, in.line(), dir, argv), OnTerminal: in.TTY}
	started, err := deps.Sessions.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	leave, err := started.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if !in.TTY { // input is for terminals only
		started.CloseInput()
	}
	return n.report(ctx, started, in, 0, begun, execYield)
}

func (n *numbers) writeStdin(
	ctx context.Context, deps hands.Deps, call *tool.Call, in execInput,
) (*hands.Outcome, error) {
	s, err := deps.Sessions.Find(n.id(int(in.SessionID)), call.Session)
	if err != nil {
		return nil, tool.Errorf(tool.NotFound, "write_stdin failed: Unknown process id %d", in.SessionID).
			Suggest("%s", tool.AsError(err).Suggestion)
	}
	leave, err := s.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	begun := time.Now()
	if in.Chars != "" && !s.Ended() {
		if err := s.Write(ctx, []byte(in.Chars)); tool.CodeOf(err) == tool.Conflict {
			return nil, tool.Errorf(tool.Conflict,
				"write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open")
		} else if err != nil {
			return nil, err
		}
	}
	return n.report(ctx, s, in, int(in.SessionID), begun, leastYield)
}

func (n *numbers) report(
	ctx context.Context, s *session.Session, in execInput, number int, begun time.Time, yield int64,
) (*hands.Outcome, error) {
	wait := hands.Milliseconds(int64(in.Yield), yield, mostYield)
	o := s.Read(ctx, max(wait, leastYield*time.Millisecond), "")
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	lines := []string{fmt.Sprintf("Wall time: %.4f seconds", time.Since(begun).Seconds())}
	if o.Ended {
		code := -1
		if task, err := s.Task(); err == nil && task.ExitCode != nil {
			code = *task.ExitCode
		}
		lines = append(lines, fmt.Sprintf("Process exited with code %d", code))
	} else {
		if number == 0 {
			number = n.add(s.ID())
		}
		lines = append(lines, fmt.Sprintf("Process running with session ID %d", number))
	}
	text, cut := tokens(o.Text, int(in.Tokens))
	if cut {
		lines = append(lines, fmt.Sprintf("Original token count: %d", (len(o.Text)+bytesPerToken-1)/bytesPerToken))
	}
	out := hands.Say(strings.Join(append(lines, "Output:", text), "\n"))
	out.Truncated = cut || o.Omitted > 0
	return out, nil
}

// tokens cuts the middle of a text of more than most tokens.
func tokens(text string, most int) (short string, cut bool) {
	if most <= 0 {
		most = outputTokens
	}
	room := min(most, len(text)) * bytesPerToken
	if len(text) <= room {
		return text, false
	}
	head, tail := truncate.Head(text, room/2), truncate.TrimStart(text[len(text)-room/2:])
	left := (len(text) - len(head) - len(tail)) / bytesPerToken
	return fmt.Sprintf("%s…%d tokens truncated…%s", head, left, tail), true
}

func runShellCommand(ctx context.Context, deps hands.Deps, call *tool.Call, in execInput) (*hands.Outcome, error) {
	argv, dir, err := in.prepare(deps)
	if err != nil {
		return nil, err
	}
	limit := hands.Milliseconds(int64(in.Timeout), commandTimeout, mostTimeout)
	out := &hands.Outcome{}
	both := argv[len(argv)-1]
	argv[len(argv)-1] = "exec 2>&1\n" + both // in one stream, as it comes
	ended, err := deps.Run(ctx, call, out,
		proc.Command{Argv: argv, Dir: dir, Timeout: limit, Cap: outputTokens * bytesPerToken})
	if err != nil {
		return nil, err
	}
	printed := ended.Stdout.String() + ended.Stderr.String()
	head := fmt.Sprintf("Exit code: %d\nWall time: %.1f seconds\n", ended.ExitCode, ended.Duration.Seconds())
	if out.Truncated {
		head += fmt.Sprintf("Total output lines: %d\n", ended.Stdout.Lines)
	}
	out.Text = head + "Output:\n" + printed
	switch {
	case ended.TimedOut:
		return out, tool.Errorf(tool.Timeout, "%sOutput:\ncommand timed out after %d milliseconds\n%s", head,
			limit.Milliseconds(), printed)
	case ended.Cancelled:
		return out, tool.Errorf(tool.Cancelled, "%s", out.Text)
	case ended.ExitCode != 0:
		return out, tool.Errorf(tool.CommandFailed, "%s", out.Text)
	}
	return out, nil
}

type planInput struct {
	Explanation string `json:"explanation"`
	Plan        []struct {
		Step   string `json:"step"`
		Status string `json:"status"`
	} `json:"plan"`
}

func runPlan(ctx context.Context, _ hands.Deps, call *tool.Call, in planInput) (*hands.Outcome, error) {
	for _, item := range in.Plan {
		if item.Status == "in_progress" {
			call.Progress(ctx, tool.Progress{Message: item.Step})
		}
	}
	if err := call.State(tool.SessionScope).Set(ctx, "plan", tool.MustMarshal(in)); err != nil {
		return nil, err
	}
	return hands.Say("Plan updated"), nil
}

func runImage(_ context.Context, deps hands.Deps, _ *tool.Call, in struct {
	Path string `json:"path"`
}) (*hands.Outcome, error) {
	out, err := hands.Image(deps.Workspace, in.Path)
	if err == nil && out == nil {
		err = tool.Errorf(tool.Unsupported, "unable to process image at `%s`: its name has no ending of an image",
			filepath.ToSlash(in.Path)).Suggest("Name a .png, .jpg, .gif or .webp file.")
	}
	return out, err
}
