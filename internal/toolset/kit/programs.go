package kit

import (
	"os/exec"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/file/gitread"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
)

// Shell is what runs command lines: the first program of chosen and others that
// lies outside the workspace at root, and its arguments before the command
// line.
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

// ShellArgument keeps a command line from being the shell's own option.
func ShellArgument(command string) string {
	if strings.HasPrefix(command, "-") || strings.HasPrefix(command, "+") {
		return " " + command
	}
	return command
}

// ConfineGit has git see the repository at top wherever it lies, and change
// nothing but what is in the workspace at root, where filters of the user's keep
// large files.
func ConfineGit(settings sandbox.Settings, root, top string) func(*exec.Cmd) error {
	settings.Read = append(slices.Clone(settings.Read), gitread.Reads(top)...)
	if top != root {
		settings.Read = append(settings.Read, top)
	}
	return settings.Confine(root)
}
