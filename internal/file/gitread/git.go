// Package gitread runs git to read an untrusted repository.
//
// Programs that its configuration names and reading could run are disabled: hooks, file system monitors,
// filters, diff programs, and the transports that would fetch missing objects.
package gitread

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/proc"
)

// Git runs git on one repository.
type Git struct {
	// Top is the top directory of the work tree, see Find.
	Top string
	// Start runs git with arguments and further environment variables, in a directory of the work tree.
	Start func(ctx context.Context, args []string, env map[string]string) (*proc.Result, error)

	overrides []setting
	checked   bool
}

type setting struct{ key, value string }

// sentinel is a setting that git must see. If it does not, it does not see the others either.
const sentinel = "toolhost.sentinel"

// Run runs a read-only git command, such as diff or status. A failing command is a result with an exit code.
// Errors: unsupported for a git that is too old, command_failed for an unreadable configuration, and those of
// Start.
func (g *Git) Run(ctx context.Context, args ...string) (*proc.Result, error) {
	if !g.checked {
		overrides, err := g.filterOverrides(ctx)
		if err != nil {
			return nil, err
		}
		g.overrides, g.checked = overrides, true
	}
	return g.run(ctx, g.overrides, args...)
}

// run runs git with further settings, passed in the environment, because on the command line a key with an equals
// sign becomes another.
func (g *Git) run(ctx context.Context, further []setting, args ...string) (*proc.Result, error) {
	settings := append([]setting{
		{sentinel, "true"},
		{"safe.directory", g.Top},
		{"core.fsmonitor", "false"},
		{"core.hooksPath", os.DevNull},
		{"core.alternateRefsCommand", ""},
		{"core.sshCommand", ""},
		{"core.quotePath", "false"}, // names not in octal
		{"protocol.allow", "never"},
	}, further...)
	env := map[string]string{
		"GIT_CONFIG_NOSYSTEM": "1",
		"GIT_ATTR_NOSYSTEM":   "1",
		"GIT_ALLOW_PROTOCOL":  "none",
		"GIT_NO_LAZY_FETCH":   "1",
		"LC_ALL":              "C",
		"GIT_CONFIG_COUNT":    strconv.Itoa(len(settings)),
	}
	for i, s := range settings {
		env["GIT_CONFIG_KEY_"+strconv.Itoa(i)] = s.key
		env["GIT_CONFIG_VALUE_"+strconv.Itoa(i)] = s.value
	}
	args = append([]string{"--no-pager", "--no-optional-locks", "--work-tree=" + g.Top}, args...)
	return g.Start(ctx, args, env)
}

// filterOverrides returns settings that disable the filters of the repository's own configuration. The user's
// own stay: large files often need one, and would look changed without it.
func (g *Git) filterOverrides(ctx context.Context) ([]setting, error) {
	listed, err := g.run(ctx, nil, "config", "--null", "--show-scope", "--get-regexp", `^(filter|toolhost)\.`)
	if err != nil {
		return nil, err
	}
	if listed.ExitCode > 1 || listed.Stdout.Truncated() {
		return nil, tool.Errorf(tool.CommandFailed, "the git configuration cannot be read: %s",
			strings.TrimSpace(listed.Stderr.String())).
			Suggest("Fix the repository's configuration; git config --list shows what is wrong with it.")
	}
	trusted := make(map[string]string)
	var own []setting
	obeyed := false
	fields := strings.Split(listed.Stdout.String(), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		key, value, _ := strings.Cut(fields[i+1], "\n")
		switch scope := fields[i]; {
		case scope == "command":
			obeyed = obeyed || key == sentinel
		case scope == "local" || scope == "worktree":
			own = append(own, setting{key: key})
		default:
			trusted[key] = value
		}
	}
	if !obeyed {
		return nil, tool.Errorf(tool.Unsupported,
			"this git is too old to be kept from running programs that a repository names").
			Suggest("Install git 2.31 or newer.")
	}
	for i, s := range own {
		own[i].value = trusted[s.key]
		if own[i].value == "" && strings.HasSuffix(s.key, ".required") {
			own[i].value = "false"
		}
	}
	return own, nil
}
