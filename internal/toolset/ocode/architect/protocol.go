package architect

// Kind is the subject of an analysis.
type Kind string

// The four analyses of contract 003.
const (
	Overview     Kind = "overview"
	Dependencies Kind = "dependencies"
	Structure    Kind = "structure"
	Metrics      Kind = "metrics"
)

// Format is the format of a report.
type Format string

// The three formats of contract 003.
const (
	Text    Format = "text"
	JSON    Format = "json"
	Mermaid Format = "mermaid"
)

// Request is the JSON on toolhost-architect's standard input.
type Request struct {
	// Root is the absolute path of the workspace.
	Root string `json:"root"`
	// Allow are further directories that may hold Path.
	Allow []string `json:"allow,omitempty"`
	// Path is the directory to analyze, relative to Root.
	Path   string `json:"path"`
	Kind   Kind   `json:"kind"`
	Format Format `json:"format"`
	// Depth is the number of directory levels told apart, from 1.
	Depth int `json:"depth"`
}

// Reply is the child program's output, one JSON object.
type Reply struct {
	// Output is the report in the requested format.
	Output string `json:"output,omitempty"`
	// Summary has the report's main figures.
	Summary Summary `json:"summary"`
	// Warnings say what was left out, and why.
	Warnings []string `json:"warnings,omitempty"`
	// Error is set if there is no report.
	Error *Failure `json:"error,omitempty"`
}

// Summary has the main figures of an analysis.
type Summary struct {
	Files        int      `json:"files"`
	Directories  int      `json:"directories"`
	Lines        int64    `json:"lines"`
	Code         int64    `json:"code"`
	Languages    []string `json:"languages"`
	Components   int      `json:"components"`
	Dependencies int      `json:"dependencies"`
	Cycles       int      `json:"cycles"`
}

// Failure is an error as sent through the pipe.
type Failure struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}
