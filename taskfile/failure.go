package taskfile

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/taskprotocol"
)

func (t *Taskfile) failure(name string, done *finished) *tool.Error {
	switch {
	case done.TimedOut:
		return tool.Errorf(tool.Timeout,
			"command '%s' did not end within %s and was stopped, with everything it had started", name,
			t.options.Timeout).
			Suggest("Run a smaller part of the work, or raise timeout in the taskfile block of agent.hcl.").
			With("exit_code", done.exitCode())
	case done.Cancelled:
		return tool.Errorf(tool.Cancelled, "command '%s' was cancelled and stopped, with everything it had started",
			name).
			Suggest("Run it again when it is wanted.").
			With("exit_code", done.exitCode())
	}
	return t.reported(name, done)
}

func (t *Taskfile) reported(name string, done *finished) *tool.Error {
	report := done.report
	switch report.Kind {
	case protocol.OK:
		return nil
	case protocol.NotFound:
		return t.notFound(name, report.Near)
	case protocol.NoTaskfile:
		return tool.Errorf(tool.NotFound, "command '%s' not found: there is no Taskfile at %s", name, t.options.Path).
			Suggest("Ask the user to create %s with the commands to offer, or do without.", t.options.Path)
	case protocol.Broken:
		return t.broken(report.Problem)
	case protocol.Prompt:
		return tool.Errorf(tool.NeedsConfirmation,
			"command '%s' asks for a confirmation and no one can answer it here; it was not run", name).
			Suggest("Let a person run it: task --dir . --taskfile %s %s", t.options.Path, name)
	case protocol.Missing:
		return tool.Errorf(tool.InvalidArgument, "command '%s' was not run: %s", name, report.Message).
			Suggest("Give variables through the task tool: args = \"%s NAME=value\".", name)
	case protocol.Refused:
		return tool.Errorf(tool.InvalidArgument, "command '%s' was not run: %s", name, report.Message).
			Suggest("Use letters, digits and any of %s in that part of the name.", valueMarks)
	case protocol.Internal:
		return tool.Errorf(tool.Internal, "command '%s' could not be run: %s", name, report.Message).
			Suggest("Run it by hand with task to see whether the Taskfile is at fault.")
	}
	return tool.Errorf(tool.CommandFailed, "command '%s' failed with exit code %d", name, done.exitCode()).
		Suggest("%sRead its output for the reason, correct it and run the command again.", t.denied(done)).
		With("exit_code", done.exitCode())
}

func (t *Taskfile) denied(done *finished) string {
	said := done.Refused()
	if said == "" && t.options.Denied != nil {
		said = t.options.Denied(done.Stderr.String() + "\n" + done.Stdout.String())
	}
	if said != "" {
		said += " "
	}
	return said
}

func (t *Taskfile) notFound(name string, near []string) *tool.Error {
	err := tool.Errorf(tool.NotFound, "command '%s' not found", name)
	if len(near) == 0 {
		return err.Suggest("list_commands shows the commands of %s.", t.options.Path)
	}
	quoted := make([]string, len(near))
	for i, n := range near {
		quoted[i] = fmt.Sprintf("'%s'", n)
	}
	return err.Suggest("Did you mean %s? list_commands shows all commands.", strings.Join(quoted, " or ")).With("near",
		near)
}
