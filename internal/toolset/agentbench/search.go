package agentbench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/search"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	defaultMaxResults   = 50
	defaultContextLines = 2
	// matchLineMax limits a line of search, matchesMax all of them, in bytes.
	matchLineMax = 4 << 10
	matchesMax   = contentMax
)

type match struct {
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Content string   `json:"content"`
	Before  []string `json:"context_before"`
	After   []string `json:"context_after"`
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

func runSearch(ctx context.Context, deps Deps, call *tool.Call, in searchInput) (*outcome, error) {
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
	found, err := search.New(deps.Workspace).Grep(ctx, q)
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
		data.Hint = fmt.Sprintf("%d matches are left out, because an answer holds no more than %d MiB; narrow the "+
			"query or the glob to see them.",
			found.Total-len(found.Lines), matchesMax>>20)
	case data.Truncated:
		data.Hint = "Raise max_results, or narrow the query or the glob, to see the rest."
	}
	out := &outcome{data: data, Outcome: kit.Outcome{Truncated: data.Truncated}}
	out.About = map[string]any{"files_searched": found.FilesSearched}
	return out, nil
}

// Default implements kit.Defaults.
func (in *searchInput) Default() { in.Max, in.Context = defaultMaxResults, defaultContextLines }

// searchError names an error by the contract, which knows ripgrep's.
func searchError(err error) error {
	switch tool.CodeOf(err) {
	case tool.InvalidArgument:
		named := *tool.AsError(err)
		return as(typeRipgrep, named.Suggest("%s With is_regex false the query is a literal text.", named.Suggestion))
	case tool.CommandNotFound, tool.CommandFailed, tool.Internal:
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			return as(typeRipgrep, err)
		}
	}
	return err
}

// namesHidden reports whether a part of the glob starts with a dot.
func namesHidden(glob string) bool {
	return !strings.HasPrefix(glob, "!") &&
		(strings.HasPrefix(glob, ".") && !strings.HasPrefix(glob, "./") || strings.Contains(glob, "/.") ||
			strings.Contains(glob, "{.") || strings.Contains(glob, ",."))
}

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
