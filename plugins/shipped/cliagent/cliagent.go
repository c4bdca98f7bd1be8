// Package cliagent is the plugin of the cliagent toolset: ten tools with one
// result object, which carries success, output, the files affected, the time
// taken, metadata and, on failure, an error of code, message and suggestion.
package cliagent

import (
	"os/exec"
	"time"

	"github.com/toolhost/toolhost/host/netguard"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

// Deps are what the tools work with. The zero value of a field means its
// default, except that tools without a Workspace can be described only.
type Deps struct {
	Workspace *workspace.Workspace
	// Web fetches pages. Without it fetch_webpage fails as unavailable.
	Web *netguard.Client
	// Shell is the program that runs commands, an absolute path outside the
	// workspace; the user's $SHELL, else /bin/sh.
	Shell string
	// OutputCap is how many bytes of each stream of a command are shown;
	// proc.DefaultCap.
	OutputCap int
	// Prepare confines a child process before it starts, that of a command or
	// of a search. It returns what the result's metadata says of it. Nil
	// confines nothing.
	Prepare func(cmd *exec.Cmd) (metadata map[string]any, err error)
	// Denied says what of a failure that Prepare is behind, by what the command
	// printed. May be nil.
	Denied func(printed string) string
	// SearchTimeout bounds file_search and grep_search, which then give what
	// they have found; 30 seconds.
	SearchTimeout time.Duration
}

// searchTimeout is the contract's.
const searchTimeout = 30 * time.Second

// New makes the ten tools.
func New(deps Deps) []tool.Tool {
	if deps.SearchTimeout <= 0 {
		deps.SearchTimeout = searchTimeout
	}
	return []tool.Tool{
		createFile(deps), readFile(deps), replaceString(deps), listDir(deps), fileSearch(deps), grepSearch(deps),
		runInTerminal(deps), lastCommand(deps), createDirectory(deps), fetchWebpage(deps),
	}
}

// prepare fits Prepare to package proc. What it says goes into about, unless
// that is nil.
func (d Deps) prepare(about *map[string]any) func(*exec.Cmd) error {
	if d.Prepare == nil {
		return nil
	}
	return func(cmd *exec.Cmd) error {
		said, err := d.Prepare(cmd)
		if about != nil {
			*about = said
		}
		return err
	}
}
