package cliagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
)

type grepParams struct {
	Pattern     string  `json:"pattern"`
	IsRegex     bool    `json:"is_regex"`
	FilePattern string  `json:"file_pattern"`
	MaxResults  integer `json:"max_results"`
}

type grepMetadata struct {
	TotalMatches  int    `json:"total_matches"`
	FilesSearched int    `json:"files_searched"`
	Pattern       string `json:"pattern"`
}

func grepSearch(deps Deps) tool.Tool {
	return newTool(deps, &tool.Definition{
		Name:  "grep_search",
		Title: "Search in files",
		Description: "Finds lines that contain a text or, with is_regex, match a regular expression (RE2 syntax, case matters; (?i) makes it not). " +
			"Searches all text files of the working directory but .git and what .gitignore files exclude, or only those that file_pattern names. " +
			"A search ends after 30 seconds with what it has found. " +
			"Returns: lines of the form file:line: text, sorted, at most max_results, and in metadata total_matches, files_searched and pattern.",
		Category:   "search",
		Parameters: json.RawMessage(grepParameters),
		Returns: returns(`
      "total_matches": {"type": "integer", "description": "How many lines match, also those that are not shown."},
      "files_searched": {"type": "integer", "description": "How many text files were looked through."},
      "pattern": {"type": "string", "description": "The pattern."}`),
		Risk:        tool.ReadOnly,
		Permissions: []tool.Permission{tool.FileRead},
		Timeout:     2 * searchTimeout,
		Idempotent:  true,
		Examples: []tool.Example{
			{Description: "A text", Params: json.RawMessage(`{"pattern":"TODO"}`)},
			{Description: "Function headers in Go files", Params: json.RawMessage(`{"pattern":"^func [A-Z]","is_regex":true,"file_pattern":"*.go","max_results":20}`)},
		},
	}, runGrep)
}

const grepParameters = `{
  "type": "object",
  "properties": {
    "pattern": {"type": "string", "description": "The text or regular expression to look for.", "minLength": 1},
    "is_regex": {"type": "boolean", "description": "Whether pattern is a regular expression.", "default": false},
    "file_pattern": {"type": "string", "description": "A glob of the files to search: of names where it has no slash, else of paths. All files by default."},
    "max_results": {"type": "integer", "description": "How many lines to show at most.", "minimum": 1, "maximum": 1000, "default": 100}
  },
  "required": ["pattern"],
  "additionalProperties": false
}`

func runGrep(ctx context.Context, deps Deps, _ *tool.Call, p grepParams) (*outcome, error) {
	query := grepQuery{max: int(p.MaxResults)}
	var err error
	if query.matches, err = p.matcher(); err != nil {
		return nil, err
	}
	if query.wants, err = p.chooser(deps); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, deps.SearchTimeout)
	defer cancel()
	found, err := grep(limited, deps.Workspace, query)
	late := expired(ctx, limited)
	if err != nil && !(late && tool.CodeOf(asError(err)) == tool.Timeout) {
		return nil, err
	}
	return p.report(deps, found, late), nil
}

// matcher gives the test for one line without its ending.
func (p grepParams) matcher() (func(line []byte) bool, error) {
	pattern := p.Pattern
	if !p.IsRegex {
		pattern = regexp.QuoteMeta(pattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, invalidRegex(err)
	}
	return re.Match, nil
}

func invalidRegex(err error) *tool.Error {
	return tool.Errorf(codeInvalidRegex, "Invalid regex pattern: %s", regexFault(err)).
		Suggest("Mend the expression, put a backslash before characters that are meant as they are, or leave is_regex out to search for the text itself.")
}

func regexFault(err error) string {
	var fault *syntax.Error
	if !errors.As(err, &fault) {
		return err.Error()
	}
	switch fault.Code {
	case syntax.ErrMissingParen:
		return "unclosed group"
	case syntax.ErrMissingBracket:
		return "unclosed character class"
	case syntax.ErrUnexpectedParen:
		return "unopened group"
	}
	return fmt.Sprintf("%s: %s", fault.Code, fault.Expr)
}

// chooser gives the test for the path of a file.
func (p grepParams) chooser(deps Deps) (func(name string) bool, error) {
	if p.FilePattern == "" {
		return func(string) bool { return true }, nil
	}
	if err := checkGlob(p.FilePattern); err != nil {
		return nil, err
	}
	glob := path.Clean(filepath.ToSlash(p.FilePattern))
	if !strings.Contains(glob, "/") {
		return func(name string) bool { return doublestar.MatchUnvalidated(glob, path.Base(name)) }, nil
	}
	if filepath.IsAbs(filepath.FromSlash(glob)) {
		glob = below(filepath.ToSlash(deps.Workspace.Root()), glob)
	}
	return func(name string) bool { return doublestar.MatchUnvalidated(glob, name) }, nil
}

func (p grepParams) report(deps Deps, found *grepResult, late bool) *outcome {
	shown := len(found.matches)
	o := &outcome{metadata: grepMetadata{found.total, found.files, p.Pattern}, truncated: late || shown < found.total}
	lines := []string{fmt.Sprintf("Found %d matches for '%s':", found.total, p.Pattern)}
	if found.total == 0 {
		lines[0] = fmt.Sprintf("No matches found for '%s'", p.Pattern)
	}
	for _, m := range found.matches {
		lines = append(lines, fmt.Sprintf("  %s:%d: %s", shownName(m.file), m.line, m.text))
	}
	if shown < found.total {
		lines = append(lines, fmt.Sprintf("Warning: Found %d matches, showing first %d", found.total, shown),
			"Use a larger max_results (up to 1000), a narrower pattern or file_pattern to see the others.")
	}
	if late {
		lines = append(lines, timedOutWarning(deps))
	}
	o.output = strings.Join(lines, "\n")
	return o
}
