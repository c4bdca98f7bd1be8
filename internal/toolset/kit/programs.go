package kit

import (
	"os/exec"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/file/gitread"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// Shell returns the program for command lines, the first of chosen and others that is
// outside the workspace at root, with its arguments before the command line.
func Shell(root, chosen string, others ...string) []string {
	for _, name := range append([]string{chosen}, others...) {
		if name == "" {
			continue
		}
		if path, err := proc.LookPath(name, root); err == nil {
			return []string{path, "-c"}
		}
	}
	return []string{"/bin/sh", "-c"}
}

// ShellArgument prevents a command line from being taken for the shell's option.
func ShellArgument(command string) string {
	if strings.HasPrefix(command, "-") || strings.HasPrefix(command, "+") {
		return " " + command
	}
	return command
}

// ConfineGit lets git read the repository at top, and change only the workspace at root and the
// directory where the user's filters keep large files.
func ConfineGit(settings sandbox.Settings, root, top string) func(*exec.Cmd) error {
	settings.Read = append(slices.Clone(settings.Read), gitread.Reads(top)...)
	if top != root {
		settings.Read = append(settings.Read, top)
	}
	return settings.Confine(root)
}
