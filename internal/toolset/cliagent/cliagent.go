// Package cliagent is the plugin of the cliagent toolset: ten tools with one result object of
// success, output, files affected, time taken, metadata and, on failure, an error of code, message
// and suggestion.
package cliagent

import (
	"os/exec"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/netguard"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// Deps are the tools' dependencies. Without a Workspace tools can only be described; other
// fields have defaults.
type Deps struct {
	Workspace *workspace.Workspace
	// Web fetches pages. Without it fetch_webpage fails as unavailable.
	Web *netguard.Client
	// Shell runs commands: an absolute path outside the workspace; by default the user's $SHELL, else /bin/sh.
	Shell string
	// OutputCap limits the shown bytes of each stream. Zero means proc.DefaultCap.
	OutputCap int
	// Prepare confines the process of a command or search before it starts, and returns metadata
	// for the result. May be nil.
	Prepare func(cmd *exec.Cmd) (metadata map[string]any, err error)
	// Denied returns the sandbox's part in a failure, from what the command printed. May be nil.
	Denied func(printed string) string
	// SearchTimeout limits file_search and grep_search, which then return what they have; 30
	// seconds by default.
	SearchTimeout time.Duration
}

const searchTimeout = 30 * time.Second

func (d Deps) complete() Deps {
	if d.SearchTimeout <= 0 {
		d.SearchTimeout = searchTimeout
	}
	return d
}

// New returns the ten tools.
func New(deps Deps) []tool.Tool {
	deps = deps.complete()
	c := speech()
	return []tool.Tool{
		kit.Tool(c, deps, "create_file", runCreateFile, planCreateFile),
		kit.Tool(c, deps, "read_file", runReadFile, nil),
		kit.Tool(c, deps, "replace_string_in_file", runReplace, planReplace),
		kit.Tool(c, deps, "list_dir", runListDir, nil),
		kit.Tool(c, deps, "file_search", runFileSearch, nil),
		kit.Tool(c, deps, "grep_search", runGrep, nil),
		kit.Tool(c, deps, "run_in_terminal", runCommand, planCommand),
		kit.Tool(c, deps, "terminal_last_command", runLastCommand, nil),
		kit.Tool(c, deps, "create_directory", runCreateDirectory, planCreateDirectory),
		kit.Tool(c, deps, "fetch_webpage", runFetch, nil),
	}
}
