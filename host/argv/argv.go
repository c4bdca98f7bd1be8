// Package argv makes the argument list of a program: from an args text by a wrapper's grammar, or from typed
// parameters by a template. It checks and runs nothing, without a shell.
package argv

import (
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Kind is the kind of an option's value or an operand.
type Kind string

// The kinds. Paths are checked against the workspace.
const (
	None    Kind = "none"    // without a value
	String  Kind = "string"  // any text
	Number  Kind = "number"  // a number, perhaps with sign and unit: -5, +10, 4K
	Read    Kind = "read"    // a path that is read
	Write   Kind = "write"   // a path that is written in place or made
	Replace Kind = "replace" // a path that a moved file replaces; not declared, but passed to Paths
	Remove  Kind = "remove"  // a path that is removed or moved away
)

// IsPath reports whether values of the kind are paths.
func (k Kind) IsPath() bool { return k == Read || k == Write || k == Replace || k == Remove }

// Paths checks paths and expands globs, as a workspace does.
type Paths interface {
	// Check refuses a path that may not be used in the given way.
	Check(path string, use Kind) error
	// Glob returns the paths that match a pattern, sorted.
	Glob(pattern string) ([]string, error)
	// IsDir reports whether path is a directory.
	IsDir(path string) bool
	// CheckTree refuses to copy or move the directory source to target if one of its files would get to a
	// protected place, or one that a symlink leads to.
	CheckTree(source, target string) error
}

// Spec declares a command tool.
type Spec struct {
	Name, Title, Description string
	Risk                     tool.Risk
	Permissions              []tool.Permission
	// AsTask is tool.Definition.AsTask.
	AsTask bool
	// Exactly one of Passthrough and Command is set.
	Passthrough *Wrapper
	Command     *Template
	// Params are the parameters of Command.
	Params []Param
	// Raw is the parameters' JSON Schema as written; Params then only describe how some properties are used.
	// Nil means the schema made of Params.
	Raw json.RawMessage
	// Asks are asked before the command runs.
	Asks []Ask
	// Outputs are the parts of the result; empty means the command's output.
	Outputs []Content
	// Returns is the JSON Schema of the structured result. May be nil.
	Returns json.RawMessage
	// Examples must be accepted, Rejects refused.
	Examples, Rejects []Example
	// Pos is where the spec was declared, "agent.hcl:12", for messages.
	Pos string
	// Access is what the sandbox grants the tool's process.
	Access Access
}

// Access is what a tool's process may reach beyond the workspace.
type Access struct {
	// Network allows every host, otherwise Hosts: "example.com", "*.example.com:8443".
	Network     bool
	Hosts       []string
	Read, Write []string // further absolute paths
}

// Example is a call of a command tool: Args of a passthrough, Params of a typed command.
type Example struct {
	Description string
	Args        string
	Params      json.RawMessage
	Pos         string
}

// Run is what remains to be run.
type Run struct {
	Argv  []string
	Env   map[string]string
	Stdin []byte
	// Reads, Writes and Removes are the paths named in the call.
	Reads, Writes, Removes []string
}

// Settings are common to wrappers and templates.
type Settings struct {
	Timeout time.Duration
	// Success are the exit codes of success; empty means 0 only.
	Success []int
	// Report is the prefix of lines on standard error with progress or log; may be empty.
	Report string
}

// Timeout returns the timeout of the spec's process, zero if unset.
func (s *Spec) Timeout() time.Duration { return s.settings().Timeout }

// Report returns the prefix of lines on standard error with the process's progress, or "".
func (s *Spec) Report() string { return s.settings().Report }

// Succeeded reports whether an exit code counts as success.
func (s *Spec) Succeeded(code int) bool {
	if len(s.settings().Success) == 0 {
		return code == 0
	}
	for _, ok := range s.settings().Success {
		if code == ok {
			return true
		}
	}
	return false
}

func (s *Spec) settings() Settings {
	if s.Passthrough != nil {
		return s.Passthrough.Settings
	}
	return s.Command.Settings
}

// Resolve returns the argument list for decoded parameters, and checks all paths. The error is a *tool.Error.
func (s *Spec) Resolve(params map[string]any, paths Paths) (*Run, error) {
	if s.Passthrough != nil {
		args, _ := params["args"].(string)
		return s.Passthrough.Resolve(args, paths)
	}
	declared := s.Params
	for i := range s.Asks {
		declared = append(declared[:len(declared):len(declared)], s.Asks[i].Params()...)
	}
	return s.Command.Resolve(declared, params, paths)
}

// Schema returns the JSON Schema of the spec's parameters.
func (s *Spec) Schema() json.RawMessage {
	if s.Passthrough != nil {
		text := "The arguments, written as for a POSIX shell: quotes and file globs work; pipes, redirections and " +
			"variables do not. " + s.Passthrough.takes()
		return json.RawMessage(`{"type":"object","properties":{"args":{"type":"string","description":` +
			string(tool.MustMarshal(text)) + `,"default":""}},"additionalProperties":false}`)
	}
	if s.Raw != nil {
		return s.Raw
	}
	return paramSchema(s.Params)
}
