// Package ocode is the plugin of toolset ocode: tools for files, text, commands, development, memory,
// structured data, MCP servers and agents, with a result object of success, output, error and metadata.
package ocode

import (
	"os/exec"
	"slices"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/subagent"
	"github.com/toolhost/toolhost/internal/source/mcpclient"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// Deps are the tools' dependencies. Without a Workspace tools can only be described; other
// fields have defaults.
type Deps struct {
	Workspace *workspace.Workspace
	// Granted are the permissions from the operator. Nil means all.
	Granted []tool.Permission
	// OutputCap limits the shown bytes of each stream. Zero means proc.DefaultCap.
	OutputCap int
	// Prepare confines a child process before it starts, and returns metadata for the result. May
	// be nil.
	Prepare func(cmd *exec.Cmd) (metadata map[string]any, err error)
	// Denied returns the sandbox's part in a failure, from what the command printed. May be nil.
	Denied func(printed string) string
	// PrepareReading is Prepare for programs that only read.
	PrepareReading func(cmd *exec.Cmd) error
	// PrepareGit is Prepare for git on the work tree at top.
	PrepareGit func(top string) func(*exec.Cmd) error
	// Trees are absolute paths of further directories of the workspace.
	Trees []string
	// Agents are the programs for the agent tool, Place is where they work, Tasks are their
	// processes.
	Agents subagent.Agents
	Place  subagent.Place
	Tasks  *background.Store
	// Servers are the MCP servers of the mcp tool. May be nil.
	Servers *mcpclient.Client
	// Architect is the path of toolhost-architect; by default beside this program, else on PATH.
	Architect string
}

// New returns the tools, in the order of the contract.
func New(deps Deps) []tool.Tool {
	c := speech()
	return []tool.Tool{
		kit.Tool(c, deps, "file_read", runFileRead, nil),
		kit.Tool(c, deps, "file_write", runFileWrite, planFileWrite),
		kit.Tool(c, deps, "file_edit", runFileEdit, planFileEdit),
		kit.Tool(c, deps, "file_ops", runFileOps, planFileOps),
		kit.Tool(c, deps, "grep", runGrep, nil),
		kit.Tool(c, deps, "diff", runDiff, nil),
		kit.Tool(c, deps, "bash", runBash, planBash),
		kit.Tool(c, deps, "env", runEnv, nil),
		kit.Tool(c, deps, "git_status", runGitStatus, nil),
		kit.Tool(c, deps, "test_runner", runTestRunner, nil),
		kit.Tool(c, deps, "architect", runArchitect, nil),
		kit.Tool(c, deps, "think", runThink, nil),
		kit.Tool(c, deps, "memory_read", runMemoryRead, nil),
		kit.Tool(c, deps, "memory_write", runMemoryWrite, nil),
		kit.Tool(c, deps, "json_yaml", runJSONYAML, nil),
		kit.Tool(c, deps, "mcp", runMCP, nil),
		kit.Tool(c, deps, "agent", runAgent, nil),
	}
}

// require refuses a permission that is not granted, in the contract's words.
func (d Deps) require(permissions ...tool.Permission) error {
	if d.Granted == nil {
		return nil
	}
	for _, p := range permissions {
		if !slices.Contains(d.Granted, p) {
			return notGranted(string(p))
		}
	}
	return nil
}

func notGranted(permission string) *tool.Error {
	return tool.Errorf(tool.Denied, "Permission denied: %s required", permission).
		Suggest("The operator grants it in agent.hcl: permissions { grant = [..., %q] }.", permission).
		With("permission", permission)
}
