// Package argv turns what an agent gives into the argument list of a program:
// an args text by the grammar of a wrapper, typed parameters by a template.
// It checks, it runs nothing, and no shell has a part in it.
package argv

import (
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/host/tool"
)

// Kind says what an option's value or an operand is.
type Kind string

// The kinds. Paths are checked against the workspace.
const (
	None    Kind = "none"    // there is none
	String  Kind = "string"  // any text
	Number  Kind = "number"  // a number, perhaps with sign and unit: -5, +10, 4K
	Read    Kind = "read"    // a path that is read
	Write   Kind = "write"   // a path that is written in place or made
	Replace Kind = "replace" // a path that is taken by a file moved there; not declared, but told to Paths
	Remove  Kind = "remove"  // a path that is removed or moved away
)

// IsPath reports whether values of the kind are paths.
func (k Kind) IsPath() bool { return k == Read || k == Write || k == Replace || k == Remove }

// Paths checks paths and expands globs; a workspace does that.
type Paths interface {
	// Check refuses a path that may not be used in the given way.
	Check(path string, use Kind) error
	// Glob gives the paths that match a pattern, sorted.
	Glob(pattern string) ([]string, error)
	// IsDir reports whether path is a directory.
	IsDir(path string) bool
	// CheckTree refuses to copy or move source, if it is a directory, to
	// target when one of its files would come to a place that may not be
	// written: a protected one, or one to which a symlink leads.
	CheckTree(source, target string) error
}

// Spec declares a command tool.
type Spec struct {
	Name, Title, Description string
	Risk                     tool.Risk
	Permissions              []tool.Permission
	// AsTask is tool.Definition.AsTask.
	AsTask bool
	// Passthrough or Command is set, and only one of them.
	Passthrough *Wrapper
	Command     *Template
	// Params are the parameters of Command.
	Params []Param
	// Raw is the JSON Schema of the parameters as it was written, where Params
	// only says how some of its properties are used. Nil is the schema that
	// Params make.
	Raw json.RawMessage
	// Asks are questions that are put before the command runs.
	Asks []Ask
	// Outputs are what the result is made of; none means that it is the text
	// which the command prints.
	Outputs []Content
	// Returns is the JSON Schema of the structured result. May be nil.
	Returns json.RawMessage
	// Examples are calls that must be accepted, Rejects ones that must be
	// refused.
	Examples, Rejects []Example
	// Pos is where the spec was written, "agent.hcl:12", for messages.
	Pos string
	// Access is what the sandbox grants the tool's process.
	Access Access
}

// Access is what a tool's process may reach beyond the workspace.
type Access struct {
	// Network lets it reach every host. Otherwise it reaches Hosts, as agent.hcl
	// has them: "example.com", "*.example.com:8443".
	Network     bool
	Hosts       []string
	Read, Write []string // further absolute paths
}

// Example is a call of a command tool. Args belongs to a passthrough, Params
// to a typed command.
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

// Settings are what a wrapper and a template have in common.
type Settings struct {
	Timeout time.Duration
	// Success are the exit codes that count as success; none means 0 alone.
	Success []int
	// Report begins the lines on standard error that tell progress or are for
	// the log; empty means that there are none.
	Report string
}

// Timeout of the spec's process, zero where none is set.
func (s *Spec) Timeout() time.Duration { return s.settings().Timeout }

// Report begins the lines on standard error by which the spec's process tells
// progress, "" when it tells none.
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

// Resolve makes the argument list of a call from its decoded parameters, and
// checks every path in it. The error is a *tool.Error.
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

// Schema is the JSON Schema of the spec's parameters.
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
