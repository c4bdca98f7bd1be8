package clemini

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/search"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	// maxMatchLine limits a line of grep, maxMatches all of them, in bytes.
	maxMatchLine = 2 << 10
	maxMatches   = 8 << 20
	// maxAround limits the lines before and after a match.
	maxAround = 1000
)

type grepInput struct {
	Pattern     string   `json:"pattern"`
	Directory   string   `json:"directory"`
	FilePattern string   `json:"file_pattern"`
	Type        string   `json:"type"`
	Mode        string   `json:"output_mode"`
	IgnoreCase  bool     `json:"case_insensitive"`
	Context     integer  `json:"context"`
	Before      *integer `json:"before_context"`
	After       *integer `json:"after_context"`
	Limit       integer  `json:"head_limit"`
	Offset      integer  `json:"offset"`
}

type grepResult struct {
	Matches   any   `json:"matches"`
	Count     int   `json:"count"`
	Total     int   `json:"total_found"`
	Truncated bool  `json:"truncated,omitempty"`
	Context   *hint `json:"context,omitempty"`
}

type grepLine struct {
	File    string    `json:"file"`
	Line    int       `json:"line"`
	Content string    `json:"content"`
	Before  *[]string `json:"before,omitempty"`
	After   *[]string `json:"after,omitempty"`
}

type grepCount struct {
	File  string `json:"file"`
	Count int    `json:"count"`
}

func runGrep(ctx context.Context, deps Deps, call *tool.Call, in grepInput) (*outcome, error) {
	q := in.query()
	found, err := search.New(deps.Workspace).Grep(ctx, q)
	if err == nil {
		err = ctx.Err()
	}
	if code := tool.CodeOf(err); code == tool.NotFound || code == tool.NotADirectory {
		return nil, tool.Errorf(tool.NotFound, "Directory not found: %s", in.Directory).
			Suggest("Check the path, or leave directory out to search everywhere.").With("directory", in.Directory)
	}
	if err != nil {
		return nil, pathError(err, in.Directory, "")
	}
	r := in.result(found, q.Before > 0, q.After > 0)
	return &outcome{data: r, Outcome: kit.Outcome{
		Truncated: r.Truncated,
		About:     map[string]any{"files_searched": found.FilesSearched},
	}}, nil
}

func (in grepInput) query() search.Query {
	q := search.Query{
		Pattern: in.Pattern, IgnoreCase: in.IgnoreCase, Dir: in.Directory, Hidden: true,
		Before: int(in.Context), After: int(in.Context), Max: int(in.Limit), Offset: int(in.Offset),
		MaxBytes: maxMatches, MaxLine: maxMatchLine,
	}
	if !strings.HasPrefix(strings.TrimPrefix(in.Directory, "./"), ".agent/") {
		q.SkipDirs = kit.OwnDirs()
	}
	if in.Before != nil {
		q.Before = int(*in.Before)
	}
	if in.After != nil {
		q.After = int(*in.After)
	}
	q.Before, q.After = min(q.Before, maxAround), min(q.After, maxAround)
	if in.FilePattern != "" && in.FilePattern != "**/*" {
		q.Globs = []string{in.FilePattern}
	}
	if in.Type != "" {
		q.Types = []string{in.Type}
	}
	switch in.Mode {
	case "files_with_matches":
		q.Mode = search.Files
	case "count":
		q.Mode = search.Counts
	}
	return q
}

func (in grepInput) result(found *search.Matches, before, after bool) grepResult {
	r := grepResult{Total: found.Total, Truncated: found.Truncated}
	switch in.Mode {
	case "files_with_matches":
		names := []string{}
		for _, f := range found.Files {
			names = append(names, f.Path)
		}
		r.Matches, r.Count = names, len(names)
	case "count":
		counts := []grepCount{}
		for _, f := range found.Files {
			counts = append(counts, grepCount{f.Path, f.Lines})
		}
		r.Matches, r.Count = counts, len(counts)
	default:
		lines := make([]grepLine, 0, len(found.Lines))
		for _, m := range found.Lines {
			lines = append(lines, grepLine{m.Path, m.Line, m.Text, around(m.Before, before), around(m.After, after)})
			r.Truncated = r.Truncated || len(m.Before) == maxAround || len(m.After) == maxAround
		}
		r.Matches, r.Count = lines, len(lines)
	}
	switch next := int(in.Offset) + r.Count; {
	case found.Full:
		r.Context = more(next, "Narrow the pattern or the files, or go on")
	case r.Truncated && !found.Truncated:
		r.Context = &hint{fmt.Sprintf("No more than %d lines are given before and after a match; read_file shows the rest.",
			maxAround)}
	}
	return r
}

func around(lines []string, wanted bool) *[]string {
	if !wanted {
		return nil
	}
	lines = append([]string{}, lines...)
	return &lines
}
