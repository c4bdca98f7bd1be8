package clemini

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/search"
	"github.com/toolhost/toolhost/host/tool"
)

const (
	// maxMatchLine bounds a line that grep shows, and maxMatches all that it
	// shows, in bytes.
	maxMatchLine = 2 << 10
	maxMatches   = 8 << 20
	// maxAround bounds the lines before a match, and those after it.
	maxAround = 1000
)

func grep(deps *Deps) tool.Tool {
	return &contractTool{deps: deps, work: runGrep, definition: &tool.Definition{
		Name: "grep", Title: "Search in files", Category: "search",
		Description: "Search the contents of files for a regular expression (RE2 syntax). " +
			"What .gitignore excludes is left out, and so are .git and binary files. Results are ordered by file and line. " +
			"Returns: {matches[], count, total_found, truncated?}",
		Parameters: object(`{"type":"object","properties":{` +
			`"pattern":{"type":"string","minLength":1,"description":"The regular expression, such as fn\\s+\\w+ or TODO|FIXME."},` +
			`"directory":{"type":"string","description":"Where to search. (default: cwd)"},` +
			`"file_pattern":{"type":"string","minLength":1,"description":"Glob of the files to search. (default: **/*)","default":"**/*"},` +
			`"type":{"type":"string","minLength":1,"description":"Type of the files to search: rs, ts, py and so on."},` +
			`"output_mode":{"type":"string","enum":["content","files_with_matches","count"],"description":"What to give: the lines, the files that have one, or how many each file has. (default: content)","default":"content"},` +
			`"case_insensitive":{"type":"boolean","description":"Whether case does not matter. (default: false)","default":false},` +
			`"context":{"type":"integer","minimum":0,"description":"How many lines to give around each match. (default: 0)","default":0},` +
			`"before_context":{"type":"integer","minimum":0,"description":"How many lines to give before each match. (default: context)"},` +
			`"after_context":{"type":"integer","minimum":0,"description":"How many lines to give after each match. (default: context)"},` +
			`"head_limit":{"type":"integer","minimum":1,"description":"How many results to give at most. (default: no limit)"},` +
			`"offset":{"type":"integer","minimum":0,"description":"How many results to leave out at the beginning. (default: 0)","default":0}` +
			`},"required":["pattern"],"additionalProperties":false}`),
		Returns: returns(`"matches":{"type":"array","description":"Objects of file, line, content, before and after; or paths; or objects of file and count."},`+
			`"count":{"type":"integer","description":"How many are given."},"total_found":{"type":"integer","description":"How many there are; with output_mode count, how many lines match in all."},`+
			`"truncated":{"type":"boolean","description":"True when more follow."}`, `"matches","count","total_found"`),
		Risk: tool.ReadOnly, Permissions: []tool.Permission{tool.FileRead}, Idempotent: true,
		Examples: []tool.Example{
			example("Function definitions in Rust files.", `{"pattern":"fn\\s+\\w+","type":"rs","output_mode":"content"}`),
			example("Files that hold TODO.", `{"pattern":"TODO","output_mode":"files_with_matches"}`),
			example("In any case, with the lines around.", `{"pattern":"error","case_insensitive":true,"context":2}`),
			example("How many in each file.", `{"pattern":"unwrap\\(\\)","type":"rs","output_mode":"count"}`),
		},
	}}
}

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

func runGrep(ctx context.Context, deps *Deps, call *tool.Call) (*outcome, error) {
	var in grepInput
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	q := in.query()
	found, err := deps.Search.Grep(ctx, q)
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
	return &outcome{data: r, truncated: r.Truncated, about: map[string]any{"engine": string(found.Engine), "files_searched": found.FilesSearched}}, nil
}

func (in grepInput) query() search.Query {
	q := search.Query{
		Pattern: in.Pattern, IgnoreCase: in.IgnoreCase, Dir: in.Directory, Hidden: true,
		Before: int(in.Context), After: int(in.Context), Max: int(in.Limit), Offset: int(in.Offset),
		MaxBytes: maxMatches, MaxLine: maxMatchLine,
	}
	if !strings.HasPrefix(strings.TrimPrefix(in.Directory, "./"), ".agent/") {
		q.SkipDirs = ownDirs()
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
		r.Context = &hint{fmt.Sprintf("No more than %d lines are given before and after a match; read_file shows the rest.", maxAround)}
	}
	return r
}

// around gives lines of context where some were asked for.
func around(lines []string, wanted bool) *[]string {
	if !wanted {
		return nil
	}
	lines = append([]string{}, lines...)
	return &lines
}
