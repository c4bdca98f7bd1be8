package agentbench

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/store/record"
	"github.com/toolhost/toolhost/internal/text/truncate"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	runName   = "run"
	shell     = "/bin/sh"
	streamMax = 100 << 10 // bytes
	// tailShown limits the output in a failed command's error, in bytes.
	tailShown = 2 << 10
)

type runInput struct {
	Command string            `json:"command"`
	Timeout schema.Integer    `json:"timeout_sec"`
	Env     map[string]string `json:"env"`
}

type runData struct {
	ExitCode        int     `json:"exit_code"`
	StdoutPath      *string `json:"stdout_path"`
	StderrPath      *string `json:"stderr_path"`
	StdoutTruncated bool    `json:"stdout_truncated,omitempty"`
	StderrTruncated bool    `json:"stderr_truncated,omitempty"`
}

func (in runInput) argv() []string { return []string{shell, "-c", in.Command} }

// check refuses what cannot be passed to a process.
func (in runInput) check() error {
	if strings.ContainsRune(in.Command, 0) {
		return tool.Errorf(tool.InvalidArgument, "the command contains a NUL byte").
			Suggest("Give it without; printf '\\0' makes one if it is needed.")
	}
	for name, value := range in.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return tool.Errorf(tool.InvalidArgument, "the environment variable %q cannot be set", name).
				Suggest("A name is not empty and has no = in it, and neither name nor value has a NUL byte.").With("name", name)
		}
	}
	return nil
}

func runCommand(ctx context.Context, deps Deps, call *tool.Call, in runInput) (*outcome, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if deps.Prepare == nil && !deps.Unconfined {
		return nil, as(typeSandbox, tool.Errorf(tool.Unavailable, "there is no sandbox to run the command in").
			Suggest("The user can look at what this machine offers with `toolhost doctor`, or allow commands without a sandbox."))
	}
	timeout := deps.RunTimeout
	if in.Timeout > 0 {
		timeout = time.Duration(in.Timeout) * time.Second
	}
	out := &outcome{}
	ended, err := proc.Run(ctx, proc.Command{
		Argv: in.argv(), Dir: deps.Workspace.Root(), Env: proc.Environ(in.Env),
		Timeout: timeout, Cap: streamMax, Prepare: out.Confining(deps.Prepare),
	})
	if err != nil {
		return nil, as(typeSandbox, err)
	}
	out.report(ctx, deps, call, ended, timeout)
	return out, nil
}

func (out *outcome) report(ctx context.Context, deps Deps, call *tool.Call, ended *proc.Result, timeout time.Duration) {
	out.exitCode = &ended.ExitCode
	if ended.TimedOut {
		ended.ExitCode = exitCodeOnTimeout
	}
	out.stdout = out.saveStream(ctx, deps, call, "stdout", ended.Stdout)
	out.stderr = out.saveStream(ctx, deps, call, "stderr", ended.Stderr)
	if out.failed = deps.failed(ended, timeout); out.failed == nil {
		out.data = runData{
			ExitCode: ended.ExitCode, StdoutPath: out.stdout, StderrPath: out.stderr,
			StdoutTruncated: ended.Stdout.Truncated(), StderrTruncated: ended.Stderr.Truncated(),
		}
	}
}

// failed returns the failure of a command, nil if it succeeded.
func (d Deps) failed(ended *proc.Result, timeout time.Duration) *failure {
	var f *failure
	switch {
	case ended.TimedOut:
		f = as(typeTimeout, tool.Errorf(tool.Timeout, "the command did not end within %s and was killed", timeout).
			Suggest("Give a longer timeout_sec, or do less in one command. What it printed until then is in the files.").
			With("timeout_sec", timeout.Seconds()))
	case ended.Cancelled:
		f = as(string(tool.Cancelled), tool.Errorf(tool.Cancelled, "the command was cancelled and killed").
			Suggest("Call again if the result is still wanted."))
	case ended.Signal != "":
		f = as(typeAbnormalExit, tool.Errorf(tool.CommandFailed, "the command was ended by a signal: %s", ended.Signal).
			Suggest("It may have used too much memory or have crashed; read what it printed.").With("signal",
			ended.Signal))
	case ended.ExitCode != 0:
		f = as(typeAbnormalExit, tool.Errorf(tool.CommandFailed, "the command exited with code %d", ended.ExitCode).
			Suggest("%s", kit.Advise(d.Denied, ended,
				"Read what it printed, in stderr_path and stdout_path; some programs exit so to tell a result.")))
	default:
		return nil
	}
	_ = f.err.With("exit_code", ended.ExitCode).
		With("stdout_tail", tailOf(ended.Stdout)).With("stderr_tail", tailOf(ended.Stderr))
	return f
}

func tailOf(o proc.Output) string {
	end := append(append([]byte{}, o.Head...), o.Tail...)
	if o.Truncated() {
		end = o.Tail
	}
	return strings.ToValidUTF8(string(truncate.TrimStart(end[max(0, len(end)-tailShown):])), "")
}

// saveStream writes a stream to its artifact and returns the name for results.
func (out *outcome) saveStream(ctx context.Context, deps Deps, call *tool.Call, stream string, o proc.Output) *string {
	name := record.LogName(call.Step, stream)
	artifact, err := saveArtifact(deps.Workspace, call, stream, name, cut(o))
	if err != nil {
		call.Log(ctx, slog.LevelWarn, "output was not kept", slog.String("artifact", name), slog.Any("error", err))
	}
	if artifact == nil {
		return nil
	}
	out.Artifacts = append(out.Artifacts, *artifact)
	out.Truncated = out.Truncated || o.Truncated()
	return &name
}

// cut returns a stream whole, or its head and tail around a mark, together streamMax bytes.
func cut(o proc.Output) []byte {
	if !o.Truncated() {
		return o.Head
	}
	const room = (streamMax - 200) / 2
	head := o.Head[:min(len(o.Head), room)]
	tail := o.Tail[max(0, len(o.Tail)-room):]
	head, tail = truncate.TrimEnd(head), truncate.TrimStart(tail)
	mark := fmt.Sprintf("\n[... %d of %d bytes left out; redirect the command's output to a file to keep all of it ...]\n",
		o.Bytes-int64(len(head)+len(tail)), o.Bytes)
	return append(append(append([]byte{}, head...), mark...), tail...)
}
