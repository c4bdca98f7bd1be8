// Package protocol is the protocol between toolhost and its child process toolhost-task: the JSON of a listing and
// of a run's report. It depends on the standard library only.
package protocol

// Collection is the variable that disables garbage collection while toolhost-task starts, a fifth of its start, and
// CollectLate the value. toolhost-task does not pass it on.
const (
	Collection  = "GOGC"
	CollectLate = "3000"
)

// Kind is the outcome of a listing or a run.
type Kind string

// The kinds of end.
const (
	// OK: the listing is complete; the command ended with exit code 0.
	OK Kind = "ok"
	// Failed: the command ran and ended with another exit code.
	Failed Kind = "failed"
	// NoTaskfile: there is no file at the given path.
	NoTaskfile Kind = "no_taskfile"
	// Broken: a Taskfile, or a file that it needs, cannot be read.
	Broken Kind = "broken"
	// NotFound: no command has the given name; nothing ran.
	NotFound Kind = "not_found"
	// Prompt: the command requires a confirmation and was not run.
	Prompt Kind = "prompt"
	// Missing: the command needs variables that were not given, or got values that it does not take.
	Missing Kind = "missing_variables"
	// Refused: a name that the Taskfile leaves open contains shell syntax; nothing ran.
	Refused Kind = "refused"
	// Cancelled: the run was stopped from outside.
	Cancelled Kind = "cancelled"
	// Internal: go-task failed unexpectedly.
	Internal Kind = "internal"
)

// Listing is the output of --describe.
type Listing struct {
	Kind Kind `json:"kind"`
	// Commands are the described commands that are not internal, in Taskfile order.
	Commands []Command `json:"commands"`
	// Files are the absolute paths that the listing depends on: Taskfiles, includes, dotenv files, and those of
	// missing optional ones.
	Files []string `json:"files"`
	// Problem explains a Kind other than OK.
	Problem *Problem `json:"problem,omitempty"`
	// Steps are what one command runs, with --steps.
	Steps []Step `json:"steps,omitempty"`
}

// Step is a command of a Taskfile with what it runs, as written: one per line, which may contain line feeds.
type Step struct {
	Name string `json:"name"`
	// File is an absolute path; it may be empty.
	File  string   `json:"file,omitempty"`
	Line  int      `json:"line,omitempty"`
	Lines []string `json:"lines"`
}

// Command is one command of a Taskfile.
type Command struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Aliases     []string `json:"aliases,omitempty"`
}

// Problem is a mistake in a Taskfile.
type Problem struct {
	Message string `json:"message"`
	// File is an absolute path, "" if unknown. Line and Column count from 1; 0 is unknown.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Report is what a run writes to the report's file.
type Report struct {
	Kind Kind `json:"kind"`
	// ExitCode is that of the failed command, or go-task's own if no command ran.
	ExitCode int `json:"exit_code"`
	// Message describes the outcome, without colours.
	Message string `json:"message,omitempty"`
	// Problem is set with kind Broken.
	Problem *Problem `json:"problem,omitempty"`
	// Near are existing commands with names like the one not found.
	Near []string `json:"near,omitempty"`
	// Notes are what a reader of the output would miss, such as a command that is not for this platform and so did
	// nothing.
	Notes []string `json:"notes,omitempty"`
}
