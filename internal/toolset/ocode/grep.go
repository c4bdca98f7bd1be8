package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/search"
)

const (
	// grepShown limits the lines that grep shows, lineShown the bytes of one.
	grepShown = 1000
	lineShown = 1000
	// grepTimeout ends a search, which keeps what it found.
	grepTimeout = 30 * time.Second
)

type grepParams struct {
	Pattern     string `json:"pattern"`
	Path        string `json:"path"`
	Recursive   bool   `json:"recursive"`
	IgnoreCase  bool   `json:"ignore_case"`
	FilePattern string `json:"file_pattern"`
}

// negated negates a boolean, which the command line gives as text.
func negated(old json.RawMessage, _ map[string]json.RawMessage) (json.RawMessage, bool) {
	switch strings.Trim(string(old), `"`) {
	case "true":
		return json.RawMessage("false"), true
	case "false":
		return json.RawMessage("true"), true
	}
	return nil, false
}

func runGrep(ctx context.Context, deps Deps, _ *tool.Call, p grepParams) (*outcome, error) {
	if p.Pattern == "" {
		return nil, invalid("Give a regular expression.", "Pattern is required")
	}
	query := search.Query{
		Pattern: p.Pattern, Dir: p.Path, IgnoreCase: p.IgnoreCase, Hidden: true,
		Max: grepShown, MaxLine: lineShown, Timeout: grepTimeout,
	}
	if !p.Recursive {
		query.MaxDepth = 1
	}
	if p.FilePattern != "" {
		query.Globs = []string{p.FilePattern}
	}
	found, err := search.New(deps.Workspace).Grep(ctx, query)
	if err != nil {
		return nil, p.failure(err)
	}
	return p.report(found), nil
}

func (p grepParams) failure(err error) error {
	if tool.CodeOf(err) == tool.InvalidArgument {
		return err
	}
	return pathError(err, p.Path)
}

func (p grepParams) report(found *search.Matches) *outcome {
	o := &outcome{metadata: facts{"match_count": found.Total, "files_searched": found.FilesSearched}}
	lines := make([]string, 0, len(found.Lines))
	for _, m := range found.Lines {
		lines = append(lines, fmt.Sprintf("%s:%d: %s", m.Path, m.Line, m.Text))
	}
	o.output = strings.Join(lines, "\n")
	if found.Total == 0 {
		o.output = fmt.Sprintf("No matches found for '%s'", p.Pattern)
	}
	if left := found.Total - len(found.Lines); left > 0 {
		o.Truncated = true
		o.warn(fmt.Sprintf("%d of %d matching lines are shown; narrow pattern, path or file_pattern to see the others",
			len(found.Lines), found.Total))
	}
	if found.TimedOut {
		o.Truncated = true
		o.warn(fmt.Sprintf("the search was ended after %s; search a smaller part", grepTimeout))
	}
	return o
}
