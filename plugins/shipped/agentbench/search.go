package agentbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/search"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

const (
	defaultMaxResults   = 50
	defaultContextLines = 2
	// matchLineMax bounds a line that search shows, in bytes, and matchesMax
	// all that it shows.
	matchLineMax = 4 << 10
	matchesMax   = contentMax
)

// match is a line that matches.
type match struct {
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Content string   `json:"content"`
	Before  []string `json:"context_before"`
	After   []string `json:"context_after"`
}

func searchTool(deps *Deps) tool.Tool {
	return &benchTool{deps: deps, limit: searchTimeout, work: runSearch, definition: &tool.Definition{
		Name:     "search",
		Title:    "Search in files",
		Category: "search",
		Description: "Search the files of the workspace for a text or a regular expression, in any case. " +
			"Files that .gitignore excludes, hidden ones and binary ones are passed over. " +
			"Returns: matches with file, line, content and the lines around it, ordered by file and line; " +
			"total_matches counts all, truncated is true when there are more than max_results, or than an answer can hold.",
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
			`"truncated":{"type":"boolean"},"total_matches":{"type":"integer"},"hint":{"type":"string"}},"required":["matches","truncated","total_matches"]}`),
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
	Query   string         `json:"query"`
	Glob    string         `json:"glob"`
	Max     schema.Integer `json:"max_results"`
	Context schema.Integer `json:"context_lines"`
	Regex   bool           `json:"is_regex"`
}

type searchData struct {
	Matches   []match `json:"matches"`
	Truncated bool    `json:"truncated"`
	Total     int     `json:"total_matches"`
	Hint      string  `json:"hint,omitempty"`
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
	if in.Query == "" {
		return nil, tool.Errorf(tool.InvalidArgument, "the query is empty").
			Suggest("Give the text or regular expression to look for.")
	}
	q := search.Query{
		Pattern: in.Query, Literal: !in.Regex, IgnoreCase: true, Hidden: namesHidden(glob),
		Before: int(in.Context), After: int(in.Context), Max: int(in.Max), MaxBytes: matchesMax, MaxLine: matchLineMax,
	}
	if glob != "" {
		q.Globs = []string{glob}
	}
	found, err := deps.Search.Grep(ctx, q)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, searchError(err)
	}
	data := searchData{Matches: make([]match, len(found.Lines)), Total: found.Total, Truncated: found.Truncated}
	for i, m := range found.Lines {
		data.Matches[i] = match{m.Path, m.Line, m.Text, append([]string{}, m.Before...), append([]string{}, m.After...)}
	}
	switch {
	case found.Full:
		data.Hint = fmt.Sprintf("%d matches are left out, because an answer holds no more than %d MiB; narrow the query or the glob to see them.",
			found.Total-len(found.Lines), matchesMax>>20)
	case data.Truncated:
		data.Hint = "Raise max_results, or narrow the query or the glob, to see the rest."
	}
	out := &outcome{data: data, truncated: data.Truncated}
	out.metadata = map[string]any{"engine": string(found.Engine), "files_searched": found.FilesSearched}
	return out, nil
}

// searchError names an error as the contract does: what ripgrep would refuse,
// and that it is not there.
func searchError(err error) error {
	switch tool.CodeOf(err) {
	case tool.InvalidArgument:
		named := *tool.AsError(err)
		return as(typeRipgrep, named.Suggest("%s With is_regex false the query is a literal text.", named.Suggestion))
	case tool.Unavailable:
		return as(typeNoRipgrep, err)
	case tool.CommandNotFound, tool.CommandFailed, tool.Internal:
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			return as(typeRipgrep, err)
		}
	}
	return err
}

// namesHidden reports whether a part of the glob begins with a dot.
func namesHidden(glob string) bool {
	return !strings.HasPrefix(glob, "!") &&
		(strings.HasPrefix(glob, ".") && !strings.HasPrefix(glob, "./") || strings.Contains(glob, "/.") || strings.Contains(glob, "{.") || strings.Contains(glob, ",."))
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
