// Package protocol is the protocol between toolhost and toolhost-task: the JSON of a listing and of a run's
// report. It depends only on the standard library.
package protocol

// Collection is the variable that disables garbage collection for a fifth less start time of toolhost-task, and
// CollectLate its value. toolhost-task does not pass it on.
const (
	Collection  = "GOGC"
	CollectLate = "3000"
)

// Kind is the outcome of a listing or a run.
type Kind string

// The kinds.
const (
	// OK: the listing is complete, or the command ended with exit code 0.
	OK Kind = "ok"
	// Failed: the command ended with another exit code.
	Failed Kind = "failed"
	// NoTaskfile: there is no file at the given path.
	NoTaskfile Kind = "no_taskfile"
	// Broken: a Taskfile, or a file that it needs, cannot be read.
	Broken Kind = "broken"
	// NotFound: no command has the given name; nothing ran.
	NotFound Kind = "not_found"
	// Prompt: the command needs a confirmation and was not run.
	Prompt Kind = "prompt"
	// Missing: the command needs variables that were not given, or got invalid values.
	Missing Kind = "missing_variables"
	// Refused: a name left open by the Taskfile contains shell syntax; nothing ran.
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
	// Files are the absolute paths that the listing depends on: Taskfiles, includes, dotenv files, and missing
	// optional ones.
	Files []string `json:"files"`
	// Problem explains a Kind other than OK.
	Problem *Problem `json:"problem,omitempty"`
	// Steps are what one command runs, with --steps.
	Steps []Step `json:"steps,omitempty"`
}

// Step is a command of a Taskfile and the lines it runs, as written; they may contain line feeds.
type Step struct {
	Name string `json:"name"`
	// File is an absolute path, or "".
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

// Problem is an error in a Taskfile.
type Problem struct {
	Message string `json:"message"`
	// File is an absolute path, "" if unknown. Line and Column count from 1; 0 is unknown.
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// Report is the content of a run's report file.
type Report struct {
	Kind Kind `json:"kind"`
	// ExitCode is the failed command's, or go-task's own if none ran.
	ExitCode int `json:"exit_code"`
	// Message describes the outcome, without colours.
	Message string `json:"message,omitempty"`
	// Problem is set with kind Broken.
	Problem *Problem `json:"problem,omitempty"`
	// Near are existing commands with similar names.
	Near []string `json:"near,omitempty"`
	// Notes say what the output does not, such as that a command is not for this platform and so did nothing.
	Notes []string `json:"notes,omitempty"`
}
