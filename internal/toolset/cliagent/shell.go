package cliagent

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// shell is a program and its arguments before the command.
type shell []string

// shellOf returns the user's shell, or one that every system has.
func shellOf(deps Deps) shell {
	return kit.Shell(deps.Workspace.Root(), withShell(deps.Shell), withShell(os.Getenv("SHELL")))
}

// withShell returns "" for the programs that accounts without a shell have.
func withShell(path string) string {
	if slices.Contains([]string{"nologin", "false", "true"}, filepath.Base(path)) {
		return ""
	}
	return path
}

const notFoundExit = 127

// missing returns the command that the shell did not find; "" for other failures.
func (s shell) missing(command string, ended *proc.Result) string {
	stderr := string(ended.Stderr.Head) + string(ended.Stderr.Tail)
	if ended.ExitCode != notFoundExit {
		return ""
	}
	if name := namedMissing(stderr); name != "" {
		return name
	}
	// The shell's messages may be in another language or form.
	name, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	if name == "" || !strings.Contains(stderr, name) {
		return ""
	}
	if _, err := exec.LookPath(name); err != nil {
		return name
	}
	return ""
}

// namedMissing finds the name in common shells' messages, the last first: it decided the exit code.
func namedMissing(stderr string) string {
	forms := []*regexp.Regexp{
		// bash, dash, busybox, ksh
		regexp.MustCompile(`^[^:]*: (?:line \d+: |\d+: )?(.+): (?:command )?not found$`),
		regexp.MustCompile(`^[^:]*:(?:\d+:)? ?command not found: (.+)$`), // zsh
		regexp.MustCompile(`^fish: Unknown command: (\S+)`),
		// a path, or dash with an unreadable directory in PATH
		regexp.MustCompile(`^[^:]*: (?:line \d+: |\d+: )?(.+): (?:No such file or directory|Permission denied)$`),
		regexp.MustCompile(`^'?([^']+)'? is not recognized as an internal or external command,?[^\n]*$`), // cmd
	}
	lines := strings.Split(strings.ReplaceAll(stderr, "\r\n", "\n"), "\n")
	for _, line := range slices.Backward(lines) {
		for _, form := range forms {
			if m := form.FindStringSubmatch(line); m != nil {
				return strings.TrimSpace(m[1])
			}
		}
	}
	return ""
}
