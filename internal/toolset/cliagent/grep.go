package cliagent

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp/syntax"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/search"
	"github.com/toolhost/toolhost/internal/text/truncate"
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

func runGrep(ctx context.Context, deps Deps, _ *tool.Call, p grepParams) (*outcome, error) {
	query := search.Query{
		Pattern: p.Pattern, Literal: !p.IsRegex, Hidden: true,
		Max: int(p.MaxResults), Timeout: deps.SearchTimeout,
	}
	if p.FilePattern != "" {
		if err := checkGlob(p.FilePattern); err != nil {
			return nil, err
		}
		query.Globs = []string{p.glob(deps)}
	}
	if p.IsRegex {
		if _, err := syntax.Parse(p.Pattern, syntax.Perl); err != nil {
			return nil, tool.Errorf(codeInvalidRegex, "Invalid regex pattern: %s", regexFault(err)).
				Suggest("Fix the expression, put a backslash before characters that are meant as they are, or leave " +
					"is_regex out to search for the text itself. " +
					"The syntax is RE2, without lookaround and backreferences.")
		}
	}
	found, err := search.New(deps.Workspace).Grep(ctx, query)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.report(deps, found), nil
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

// glob returns file_pattern relative to the workspace.
func (p grepParams) glob(deps Deps) string {
	glob := path.Clean(filepath.ToSlash(p.FilePattern))
	if filepath.IsAbs(filepath.FromSlash(glob)) {
		return relativeTo(filepath.ToSlash(deps.Workspace.Root()), glob)
	}
	if strings.HasPrefix(p.FilePattern, "./") && !strings.Contains(glob, "/") {
		return "/" + glob
	}
	return glob
}

func (p grepParams) report(deps Deps, found *search.Matches) *outcome {
	shown := len(found.Lines)
	o := &outcome{metadata: grepMetadata{found.Total, found.FilesSearched, p.Pattern}}
	o.Truncated = found.TimedOut || shown < found.Total
	lines := []string{fmt.Sprintf("Found %d matches for '%s':", found.Total, p.Pattern)}
	if found.Total == 0 {
		lines[0] = fmt.Sprintf("No matches found for '%s'", p.Pattern)
	}
	for _, m := range found.Lines {
		lines = append(lines, fmt.Sprintf("  %s:%d: %s", shownName(m.Path), m.Line, shownLine(m.Text)))
	}
	if shown < found.Total {
		lines = append(lines, fmt.Sprintf("Warning: Found %d matches, showing first %d", found.Total, shown),
			"Use a larger max_results (up to 1000), a narrower pattern or file_pattern to see the others.")
	}
	if found.TimedOut {
		lines = append(lines, timedOutWarning(deps))
	}
	o.output = strings.Join(lines, "\n")
	return o
}

const lineShown = 1000 // bytes

func shownLine(line string) string {
	if len(line) <= lineShown {
		return line
	}
	head := truncate.Head(line, lineShown)
	return fmt.Sprintf("%s [... %d more bytes]", head, len(line)-len(head))
}
