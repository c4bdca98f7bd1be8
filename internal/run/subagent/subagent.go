// Package subagent starts programs that work on delegated tasks: those of agent.hcl's agent blocks.
package subagent

import (
	_ "embed"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/run/background"
	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/store/digest"
)

// DefaultTimeout bounds a run of an agent without its own timeout.
const DefaultTimeout = 30 * time.Minute

// The ways to pass an agent its task. As Argument it replaces PromptWord in the command; without that word it
// is the last argument.
const (
	Stdin      = "stdin"
	Argument   = "argument"
	PromptWord = "{prompt}"
)

// maxArgument is the kernel's limit for one argument, on Linux.
const maxArgument = 128<<10 - 1

// Agent is a program that works on a task.
type Agent struct {
	// Role names it; empty is the one for tasks without a role.
	Role        string `json:"role,omitempty"`
	Description string `json:"description,omitempty"`
	// Command is the program and its arguments.
	Command []string `json:"command"`
	// Prompt is Stdin or Argument; by default Stdin.
	Prompt string            `json:"prompt,omitempty"`
	Env    map[string]string `json:"env,omitempty"`
	// Timeout bounds a run, in nanoseconds; zero means DefaultTimeout.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Network, Hosts, Read and Write are its sandbox grants beyond the workspace; Read and Write are absolute
	// paths.
	Network bool     `json:"network,omitempty"`
	Hosts   []string `json:"hosts,omitempty"`
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	// Files are those that Command names, as the user approved them: if one has changed, the agent does not
	// run.
	Files digest.Files `json:"files,omitempty"`
}

// Schema is the JSON Schema of a list of agents, for the configuration of a plugin.
//
//go:embed agents.json
var Schema string

// Agents are the configured ones.
type Agents []Agent

// Find returns the agent of a role, "" for no role. The error is a *tool.Error: of code unavailable if no agent
// is configured for that, and not_found for an unknown role.
func (as Agents) Find(role string) (*Agent, error) {
	at := slices.IndexFunc(as, func(a Agent) bool { return a.Role == role })
	switch {
	case at >= 0:
		return &as[at], nil
	case role == "" || len(as) == 0:
		return nil, tool.Errorf(tool.Unavailable, "no agent is configured to work on tasks").
			Suggest("The user can name one in agent.hcl, for example one that gets the task on its standard " +
				"input:\nagent {\n  command = [\"claude\", \"-p\"]\n  network = \"allow\"\n}")
	}
	return nil, tool.Errorf(tool.NotFound, "there is no agent of the role %q", role).
		Suggest("The roles are: %s.", strings.Join(as.Roles(), ", ")).With("roles", as.Roles())
}

// Roles returns the roles in the order of the configuration.
func (as Agents) Roles() []string {
	roles := []string{}
	for _, a := range as {
		if a.Role != "" {
			roles = append(roles, a.Role)
		}
	}
	return roles
}

// Place is where an agent works.
type Place struct {
	// Root is the workspace, an absolute path; Trees are further ones.
	Root  string
	Trees []string
	// Confine is the host's confinement. The agent's grants are added.
	Confine sandbox.Settings
}

// Spec returns a run of the agent on a task, for background.Store.Start or, by [background.Spec.Command],
// proc.Run. The caller sets session, kind, title and prefix. The error is a *tool.Error of code
// command_not_found if the program is not installed or lies in the workspace, and too_large if the task is too
// long for an argument.
func (a *Agent) Spec(prompt string, at Place) (background.Spec, error) {
	if err := a.Files.Verify(); err != nil {
		return background.Spec{}, err
	}
	program, err := proc.LookPath(a.Command[0], at.Root)
	if err != nil {
		return background.Spec{}, err
	}
	argv := append([]string{program}, a.Command[1:]...)
	var stdin []byte
	if a.Prompt == Argument {
		if argv, err = withArgument(argv, prompt); err != nil {
			return background.Spec{}, err
		}
	} else {
		stdin = []byte(prompt)
	}
	settings := at.Confine.WithCache(at.Root, "agent-"+url.PathEscape(a.Role))
	if a.Role == "" {
		settings = at.Confine.WithCache(at.Root, "agent")
	}
	settings.Network, settings.Hosts = a.Network, a.Hosts
	settings.Read = slices.Concat(settings.Read, a.Read)
	settings.Write = slices.Concat(settings.Write, a.Write)
	policy := settings.Policy(at.Root, at.Trees...)
	timeout := a.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	return background.Spec{
		Argv: argv, Dir: at.Root, Env: proc.Environ(maps.Clone(a.Env)), Stdin: stdin, Timeout: timeout,
		Confine: &policy,
	}, nil
}

func withArgument(argv []string, prompt string) ([]string, error) {
	switch {
	case len(prompt) > maxArgument:
		return nil, tool.Errorf(tool.TooLarge, "the task has %d bytes; a command-line argument can have at most %d", len(prompt),
			maxArgument).
			Suggest("Put the long part in a file and give its path, or ask the user to set prompt = \"stdin\" in the agent block.")
	case strings.ContainsRune(prompt, 0):
		return nil, tool.Errorf(tool.InvalidArgument, "the task contains a NUL byte").Suggest("Give it without.")
	}
	given := false
	for i, word := range argv {
		if i > 0 && word == PromptWord {
			argv[i], given = prompt, true
		}
	}
	if !given {
		argv = append(argv, prompt)
	}
	return argv, nil
}
