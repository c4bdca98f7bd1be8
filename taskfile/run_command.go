package taskfile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/taskprotocol"
)

// stopTime is the time after a run's limit for stopping its processes.
const stopTime = 15 * time.Second

type runCommand struct{ taskfile *Taskfile }

func (r *runCommand) Definition() *tool.Definition {
	return r.taskfile.definition("run_command", r.taskfile.options.Timeout+stopTime)
}

type ran struct {
	Command    string `json:"command"`
	ExitCode   int    `json:"exit_code"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr"`
	DurationMS int64  `json:"duration_ms"`
}

func (r *runCommand) Call(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	var params struct {
		Command string `json:"command"`
		Args    string `json:"args"`
	}
	if err := call.Decode(&params); err != nil {
		return nil, err
	}
	if params.Command == "" || strings.ContainsRune(params.Command, 0) {
		return nil, r.taskfile.notFound(params.Command, nil)
	}
	words, err := r.taskfile.words(ctx, params.Args)
	if err != nil {
		return nil, err
	}
	done, err := r.taskfile.run(ctx, call, append([]string{"--exact=" + params.Command, "--"}, words...)...)
	if err != nil {
		return nil, err
	}
	return r.taskfile.result(params.Command, done)
}

// Complete suggests the names of the commands.
func (r *runCommand) Complete(ctx context.Context, wanted tool.Completion) ([]string, error) {
	listing, err := r.taskfile.usable(ctx)
	if err != nil || wanted.Argument != "command" {
		return nil, err
	}
	var names []string
	for _, c := range listing.Commands {
		if strings.HasPrefix(c.Name, wanted.Typed) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (t *Taskfile) result(name string, done *finished) (*tool.Result, error) {
	failure := t.failure(name, done)
	switch done.report.Kind {
	case protocol.NotFound, protocol.NoTaskfile, protocol.Broken, protocol.Refused:
		if !done.TimedOut && !done.Cancelled {
			return nil, failure
		}
	}
	out := ran{
		Command: name, ExitCode: done.exitCode(), DurationMS: done.Duration.Milliseconds(),
		Stdout: done.Stdout.String(), Stderr: done.Stderr.String(),
	}
	notes := done.report.Notes
	if said := done.Refused(); failure == nil && said != "" {
		notes = append(notes, said)
	}
	result := tool.Text(describeRun(name, out, failure, notes))
	result.Structured = tool.MustMarshal(out)
	result.Artifacts = done.artifacts(t)
	result.Truncated = done.Stdout.Truncated() || done.Stderr.Truncated()
	result.Failed, result.Metadata = failure, done.metadata
	return result, nil
}

// exitCode returns the command's exit code, or timeout(1)'s if it was stopped.
func (f *finished) exitCode() int {
	switch {
	case f.TimedOut:
		return 124
	case f.Cancelled || f.report.ExitCode == 0:
		return f.Result.ExitCode
	}
	return f.report.ExitCode
}

func describeRun(name string, out ran, failure *tool.Error, notes []string) string {
	var b strings.Builder
	took := time.Duration(out.DurationMS) * time.Millisecond
	switch {
	case failure == nil:
		fmt.Fprintf(&b, "Command '%s' succeeded: exit code 0, %s.\n", name, took)
	case failure.Code == tool.CommandFailed:
		fmt.Fprintf(&b, "%s, %s.\n", capital(failure.Message), took)
	default:
		fmt.Fprintf(&b, "%s (exit code %d, %s).\n", capital(failure.Message), out.ExitCode, took)
	}
	for _, note := range notes {
		fmt.Fprintf(&b, "Note: %s\n", note)
	}
	for _, stream := range []struct{ name, text string }{{"stdout", out.Stdout}, {"stderr", out.Stderr}} {
		if stream.text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", stream.name, stream.text)
			if !strings.HasSuffix(stream.text, "\n") {
				b.WriteByte('\n')
			}
		}
	}
	if out.Stdout == "" && out.Stderr == "" {
		b.WriteString("It printed nothing.\n")
	}
	if failure != nil && failure.Suggestion != "" {
		fmt.Fprintf(&b, "\n%s\n", failure.Suggestion)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
