package agentbench

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

const (
	defaultMaxResults   = 50
	defaultContextLines = 2
	// matchLineMax bounds a line that search shows, in bytes.
	matchLineMax = 4 << 10
)

// Query is what to search for.
type Query struct {
	// Pattern is a regular expression when Regex is set, plain text else.
	// Case does not matter.
	Pattern string
	Regex   bool
	// Glob selects files as ripgrep's --glob does: without a slash it is
	// about the name, with one about the path; a ! before it turns it round.
	// Empty selects all but hidden ones.
	Glob string
	// Context is how many lines to give before and after a match.
	Context int
	// Max is how many matches to give; all are counted.
	Max int
}

// Match is a line that matches.
type Match struct {
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Content string   `json:"content"`
	Before  []string `json:"context_before"`
	After   []string `json:"context_after"`
}

// Found is what a search came to.
type Found struct {
	// Matches are ordered by file, then line.
	Matches []Match
	// Total counts the lines that match, those beyond Query.Max too.
	Total int
	// Skipped are files that could not be searched because of their size.
	Skipped []string
}

// Searcher finds text in the workspace. Files that .gitignore excludes,
// binary ones and .git are passed over. Errors are a *tool.Error or those of
// ctx.
type Searcher interface {
	Search(ctx context.Context, q Query) (*Found, error)
}

func search(deps *Deps) tool.Tool {
	return &benchTool{deps: deps, limit: searchTimeout, work: runSearch, definition: &tool.Definition{
		Name:     "search",
		Title:    "Search in files",
		Category: "search",
		Description: "Search the files of the workspace for a text or a regular expression, in any case. " +
			"Files that .gitignore excludes, hidden ones and binary ones are passed over. " +
			"Returns: matches with file, line, content and the lines around it, ordered by file and line; " +
			"total_matches counts all, truncated is true when there are more than max_results.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"query":{"type":"string","description":"Text to look for, or a regular expression when is_regex is true."},` +
			`"glob":{"type":"string","description":"Pattern of the files to search, such as **/*.py."},` +
			`"max_results":{"type":"integer","minimum":1,"description":"How many matches to give at most.","default":50},` +
			`"context_lines":{"type":"integer","minimum":0,"maximum":10,"description":"How many lines to give before and after each match.","default":2},` +
			`"is_regex":{"type":"boolean","description":"Whether query is a regular expression.","default":false}` +
			`},"required":["query"],"additionalProperties":false}`),
		Returns: returns(`{"type":"object","properties":{"matches":{"type":"array","items":{"type":"object","properties":{` +
			`"file":{"type":"string"},"line":{"type":"integer"},"content":{"type":"string"},` +
			`"context_before":{"type":"array","items":{"type":"string"}},"context_after":{"type":"array","items":{"type":"string"}}},` +
			`"required":["file","line","content","context_before","context_after"]}},` +
			`"truncated":{"type":"boolean"},"total_matches":{"type":"integer"},"hint":{"type":"string"},` +
			`"skipped_files":{"type":"array","items":{"type":"string"}}},"required":["matches","truncated","total_matches"]}`),
		Risk:        tool.ReadOnly,
		Permissions: []tool.Permission{tool.FileRead},
		Timeout:     searchTimeout + grace,
		Idempotent:  true,
		Examples: []tool.Example{
			example("Find where a function is defined.", `{"query":"def main","glob":"**/*.py","max_results":10}`),
			example("Find all classes, without the lines around.", `{"query":"^class \\w+","is_regex":true,"context_lines":0}`),
		},
	}}
}

type searchInput struct {
	Query   string `json:"query"`
	Glob    string `json:"glob"`
	Max     int    `json:"max_results"`
	Context int    `json:"context_lines"`
	Regex   bool   `json:"is_regex"`
}

type searchData struct {
	Matches   []Match  `json:"matches"`
	Truncated bool     `json:"truncated"`
	Total     int      `json:"total_matches"`
	Hint      string   `json:"hint,omitempty"`
	Skipped   []string `json:"skipped_files,omitempty"`
}

func runSearch(ctx context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	in := searchInput{Max: defaultMaxResults, Context: defaultContextLines}
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	glob, err := searchGlob(deps.Workspace, in.Glob)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(in.Query, "\n\x00") {
		return nil, as(typeRipgrep, tool.Errorf(tool.InvalidArgument, "the query has a newline or a NUL byte, and a search is within lines").
			Suggest("Search for one of the lines, and read the file around it."))
	}
	found, err := deps.Search.Search(ctx, Query{Pattern: in.Query, Regex: in.Regex, Glob: glob, Context: in.Context, Max: in.Max})
	if err != nil {
		return nil, err
	}
	data := searchData{Matches: found.Matches, Total: found.Total, Truncated: found.Total > len(found.Matches), Skipped: found.Skipped}
	if data.Matches == nil {
		data.Matches = []Match{}
	}
	if data.Truncated {
		data.Hint = "Raise max_results, or narrow the query or the glob, to see the rest."
	}
	return &outcome{data: data, truncated: data.Truncated}, nil
}

// searchGlob checks a glob, and makes an absolute one relative.
func searchGlob(ws *workspace.Workspace, glob string) (string, error) {
	bare, negated := strings.CutPrefix(glob, "!")
	if !doublestar.ValidatePattern(bare) {
		return "", as(typeRipgrep, badGlob(glob))
	}
	for part := range strings.SplitSeq(bare, "/") {
		if part == ".." {
			return "", globEscapes(glob)
		}
	}
	if rest, ok := strings.CutPrefix(bare, ws.Root()+"/"); ok {
		bare = "/" + rest
	}
	if negated {
		bare = "!" + bare
	}
	return bare, nil
}

// shownLine is a line as search shows it: without its ending, and cut when it
// is very long.
func shownLine(line string) string {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	if len(line) <= matchLineMax {
		return line
	}
	end := matchLineMax
	for end > 0 && !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end] + " [... the line is longer; see it with read_file ...]"
}
