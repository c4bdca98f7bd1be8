package architect

// Kind is what an analysis is about.
type Kind string

// The four analyses of contract 003.
const (
	Overview     Kind = "overview"
	Dependencies Kind = "dependencies"
	Structure    Kind = "structure"
	Metrics      Kind = "metrics"
)

// Format is how a report is written.
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
	// Allow are further directories that Path may lie in.
	Allow []string `json:"allow,omitempty"`
	// Path is the directory to analyze, relative to Root.
	Path   string `json:"path"`
	Kind   Kind   `json:"kind"`
	Format Format `json:"format"`
	// Depth is how many levels of directories are told apart, from 1.
	Depth int `json:"depth"`
}

// Reply is what the child program writes, as one JSON object.
type Reply struct {
	// Output is the report in the format that was asked for.
	Output string `json:"output,omitempty"`
	// Summary are the report's main figures.
	Summary Summary `json:"summary"`
	// Warnings tell what was left out of the analysis, and why.
	Warnings []string `json:"warnings,omitempty"`
	// Error is set if there is no report.
	Error *Failure `json:"error,omitempty"`
}

// Summary are the main figures of an analysis.
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

// Failure is an error on its way through the pipe.
type Failure struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}
