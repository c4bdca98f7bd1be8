package tool

import (
	"context"
	"encoding/json"
	"time"
)

// Risk classes a tool by the worst it can do when it works as described.
type Risk string

// The three risk levels, from harmless to destructive.
const (
	// ReadOnly tools change nothing.
	ReadOnly Risk = "read_only"
	// SafeWrite tools change files visibly and reversibly, such as creating a new file.
	SafeWrite Risk = "safe_write"
	// Dangerous tools can destroy work or reach outside: they overwrite, delete, run commands or use a network.
	Dangerous Risk = "dangerous"
)

// Valid reports whether r is one of the three levels.
func (r Risk) Valid() bool { return r == ReadOnly || r == SafeWrite || r == Dangerous }

// Permission names one kind of access that a tool needs.
type Permission string

// The host's own permissions. Tools may name others; policy rules match them as text.
const (
	FileRead  Permission = "file_read"
	FileWrite Permission = "file_write"
	ShellExec Permission = "shell_exec"
	Network   Permission = "network"
	EnvRead   Permission = "env_read"
	EnvWrite  Permission = "env_write"
)

// Definition is a tool's description of itself.
type Definition struct {
	// Name is what callers use: letters, digits, '_' and '-', at most 64.
	Name string `json:"name"`
	// Title is a short label for people; empty means Name.
	Title string `json:"title,omitempty"`
	// Description is what the tool does, for a model to choose by. It ends in a "Returns:" clause.
	Description string `json:"description"`
	// Category groups tools in listings ("file", "web"); may be empty.
	Category string `json:"category,omitempty"`
	// Parameters is the JSON Schema of the parameters, an object. Empty means no parameters.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// Returns is the JSON Schema of Result.Structured; empty for contents only.
	Returns json.RawMessage `json:"returns,omitempty"`
	Risk    Risk            `json:"risk"`
	// Permissions are what the tool needs to do its work.
	Permissions []Permission `json:"permissions,omitempty"`
	// Timeout bounds one call. Zero means the host's default.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Grace is the time after Timeout for a tool that ends by itself, so that its result so far is kept.
	Grace time.Duration `json:"-"`
	// AsTask is set if calls take too long to wait for: over MCP they are made as tasks, and refused to clients
	// without tasks.
	AsTask bool `json:"as_task,omitempty"`
	// Idempotent is set if a repeated identical call changes nothing more.
	Idempotent bool `json:"idempotent,omitempty"`
	// Examples are calls that work, shown by describe.
	Examples []Example `json:"examples,omitempty"`
}

// Example is one call of a tool, with its purpose.
type Example struct {
	Description string          `json:"description,omitempty"`
	Params      json.RawMessage `json:"params"`
}

// Tool is one callable tool. Calls may run concurrently.
type Tool interface {
	// Definition describes the tool. It is cheap, constant and without side effects. The caller must not change
	// the result.
	Definition() *Definition
	// Call does the work. An expected failure is an *Error; other errors get code internal. When ctx ends, the
	// tool stops what it started and returns. A failure with a result (a contract's own envelope) is a Result
	// with Failed set, and no error.
	Call(ctx context.Context, call *Call) (*Result, error)
}

// Planner is implemented by tools that can say beforehand what a call would do.
type Planner interface {
	// Plan checks the call as Call would and returns what it would change, without changing anything. Errors
	// are those of Call.
	Plan(ctx context.Context, call *Call) (*Plan, error)
}

// Plan is what a call is going to do.
type Plan struct {
	// FilesAffected are the files to be created, changed or removed, relative to the workspace, sorted.
	FilesAffected []string `json:"files_affected"`
	// Preview shows the change to a person, usually as a unified diff.
	Preview string `json:"preview,omitempty"`
}

// ErrorRenderer is implemented by tools of a fixed contract: it renders a host's error (unknown parameter,
// denied, timeout) as the contract's own result object.
type ErrorRenderer interface {
	RenderError(call *Call, err *Error) *Result
}

// Normalizer is implemented by tools that accept more than their schema, such as aliases of parameters.
type Normalizer interface {
	// Normalize rewrites parameters to the schema's form, before they are validated. What it does not
	// understand it returns unchanged.
	Normalize(params json.RawMessage) json.RawMessage
}

// Answerer is implemented by tools whose questions are answered before decisions about the call.
type Answerer interface {
	// Answers returns the answers as "ask.QUESTION.FIELD", for decisions as on parameters. An error is the
	// call's.
	Answers(ctx context.Context, call *Call) (map[string]any, error)
}

// Commander is implemented by tools that run a program, for policy rules about commands.
type Commander interface {
	// CommandLine returns the argument list that the call would run. It runs nothing. An error means that the
	// call would fail.
	CommandLine(ctx context.Context, call *Call) ([]string, error)
}
