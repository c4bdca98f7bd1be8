package ocode

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/search"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/plugins/sdk/registry"
)

const (
	// grepShown bounds the lines that grep shows, lineShown the bytes of one.
	grepShown = 1000
	lineShown = 1000
	// grepTimeout ends a search with what it has found.
	grepTimeout = 30 * time.Second
)

type grepParams struct {
	Pattern     string `json:"pattern"`
	Path        string `json:"path"`
	Recursive   bool   `json:"recursive"`
	IgnoreCase  bool   `json:"ignore_case"`
	FilePattern string `json:"file_pattern"`
}

func grep(deps Deps) tool.Tool {
	return newTool(deps, spec[grepParams]{
		Definition: tool.Definition{
			Name:  "grep",
			Title: "Search in files",
			Description: "Finds the lines that match a regular expression (RE2 syntax) in the text files of a directory, or in one file. " +
				"What .gitignore files exclude, .git and binary files are left out. " +
				"Returns: lines of the form \"file:line: text\", sorted, at most 1000, and in metadata match_count and files_searched.",
			Category:    "text_processing",
			Risk:        tool.ReadOnly,
			Permissions: []tool.Permission{tool.FileRead},
			Timeout:     2 * grepTimeout,
			Idempotent:  true,
			Examples: []tool.Example{
				{Description: "Function headers in Python files", Params: json.RawMessage(`{"pattern":"def \\w+","file_pattern":"*.py"}`)},
				{Description: "One directory, whatever the case", Params: json.RawMessage(`{"pattern":"todo","path":"src","recursive":false,"ignore_case":true}`)},
			},
		},
		parameters: []registry.Parameter{
			{Name: "pattern", Type: "string", Required: true, Description: "The regular expression."},
			{Name: "path", Type: "string", Default: ".", Description: "The directory or file to search, relative to the workspace."},
			{Name: "recursive", Type: "boolean", Default: true, Description: "Whether to search the directories below as well."},
			{Name: "ignore_case", Type: "boolean", Default: false, Description: "Whether capitals and small letters are alike."},
			{Name: "file_pattern", Type: "string", Description: "A glob of the files to search, such as *.py: of names where it has no slash, else of paths below path."},
		},
		facts: `"match_count":{"type":"integer","description":"How many lines match, also those that are not shown."},` +
			`"files_searched":{"type":"integer","description":"How many files were looked at."}`,
		aliases: aliases{{"case_sensitive", "ignore_case", negated}},
		run:     runGrep,
	})
}

// negated turns a truth value round. The command line gives it as text.
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
	found, err := search.New(deps.Workspace, search.Options{Prepare: deps.reading()}).Grep(ctx, query)
	if err != nil {
		return nil, p.failure(err)
	}
	return p.report(found), nil
}

// reading fits PrepareReading to the packages that take nil for none.
func (d Deps) reading() func(*exec.Cmd) error { return d.PrepareReading }

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
		o.truncated = true
		o.warn(fmt.Sprintf("%d of %d matching lines are shown; narrow pattern, path or file_pattern to see the others", len(found.Lines), found.Total))
	}
	if found.TimedOut {
		o.truncated = true
		o.warn(fmt.Sprintf("the search was ended after %s; search a smaller part", grepTimeout))
	}
	return o
}
