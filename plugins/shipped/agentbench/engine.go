package agentbench

import (
	"bytes"
	"context"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/textedit"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

// engine searches by itself, without a program.
type engine struct{ workspace *workspace.Workspace }

// Search implements Searcher.
func (e engine) Search(ctx context.Context, q Query) (*Found, error) {
	pattern := q.Pattern
	if !q.Regex {
		pattern = regexp.QuoteMeta(pattern)
	}
	// Two forms of one expression: the first finds a candidate anywhere in a
	// file, the second decides about its line alone.
	anywhere, err := regexp.Compile("(?im)" + pattern)
	if err != nil {
		return nil, badRegexp(q.Pattern, err)
	}
	line, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		return nil, badRegexp(q.Pattern, err)
	}
	s := &searching{Query: q, anywhere: anywhere, line: line, found: &Found{}}
	walk := workspace.WalkOptions{Gitignore: true, Hidden: namesHidden(q.Glob), SkipDirs: []string{".git"}}
	err = e.workspace.Walk(ctx, ".", walk, func(entry workspace.Entry) error {
		if !entry.Type.IsRegular() || !globSelects(q.Glob, entry.Path) {
			return nil
		}
		return s.file(ctx, e.workspace, entry.Path)
	})
	if err != nil {
		return nil, err
	}
	return s.found, nil
}

func badRegexp(pattern string, err error) error {
	return as(typeRipgrep, tool.Errorf(tool.InvalidArgument, "the regular expression %q does not parse: %v", pattern, err).
		Suggest("Correct it, or set is_regex to false to look for the text as it is.").With("query", pattern))
}

// namesHidden reports whether a part of the glob begins with a dot.
func namesHidden(glob string) bool {
	return !strings.HasPrefix(glob, "!") && (strings.HasPrefix(glob, ".") || strings.Contains(glob, "/.") || strings.Contains(glob, "{.") || strings.Contains(glob, ",."))
}

// globSelects matches a path as ripgrep's --glob does.
func globSelects(glob, name string) bool {
	if glob == "" {
		return true
	}
	bare, negated := strings.CutPrefix(glob, "!")
	rooted, anchored := strings.CutPrefix(strings.TrimPrefix(bare, "./"), "/")
	var matches bool
	if anchored || strings.Contains(rooted, "/") {
		matches = doublestar.MatchUnvalidated(rooted, name)
	} else {
		matches = doublestar.MatchUnvalidated(rooted, path.Base(name))
	}
	return matches != negated
}

// searching is one search on its way.
type searching struct {
	Query
	anywhere, line *regexp.Regexp
	found          *Found
}

// file searches one file. One that is gone or cannot be read is passed over,
// as one that changes under the search might be.
func (s *searching) file(ctx context.Context, ws *workspace.Workspace, name string) error {
	data, _, err := ws.ReadFile(name, 0)
	if tool.CodeOf(err) == tool.TooLarge {
		s.found.Skipped = append(s.found.Skipped, name)
		return nil
	}
	if err != nil {
		return ctx.Err()
	}
	text, ok := searchable(data)
	if !ok {
		return ctx.Err()
	}
	s.text(name, text)
	return ctx.Err()
}

// searchable gives the text of a file, decoded where it is UTF-16.
func searchable(data []byte) ([]byte, bool) {
	text, err := textedit.Decode(data)
	if err != nil {
		return nil, false
	}
	switch text.Encoding() {
	case textedit.UTF16LE, textedit.UTF16BE:
		return []byte(text.String()), true
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, false
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), true
}

// text finds the matching lines of a text.
func (s *searching) text(name string, text []byte) {
	for at, number := 0, 1; at < len(text); {
		loc := s.anywhere.FindIndex(text[at:])
		if loc == nil {
			return
		}
		start := at + bytes.LastIndexByte(text[at:at+loc[0]], '\n') + 1
		if start >= len(text) {
			return // the empty match behind the last newline
		}
		number += bytes.Count(text[at:start], []byte{'\n'})
		end := len(text)
		if i := bytes.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		if s.line.Match(bytes.TrimSuffix(text[start:end], []byte{'\n'})) {
			s.hit(name, number, text, start, end)
		}
		at, number = end, number+1
	}
}

func (s *searching) hit(name string, number int, text []byte, start, end int) {
	s.found.Total++
	if len(s.found.Matches) >= s.Max {
		return
	}
	s.found.Matches = append(s.found.Matches, Match{
		File: name, Line: number, Content: shownLine(string(text[start:end])),
		Before: linesBefore(text[:start], s.Context), After: linesAfter(text[end:], s.Context),
	})
}

// linesBefore gives the last n lines of a text.
func linesBefore(text []byte, n int) []string {
	start := len(text)
	for ; n > 0 && start > 0; n-- {
		start = bytes.LastIndexByte(text[:start-1], '\n') + 1
	}
	return linesAfter(text[start:], -1)
}

// linesAfter gives the first n lines of a text, all of them with n < 0.
func linesAfter(text []byte, n int) []string {
	lines := []string{}
	for ; n != 0 && len(text) > 0; n-- {
		end := len(text)
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			end = i + 1
		}
		lines, text = append(lines, shownLine(string(text[:end]))), text[end:]
	}
	return lines
}
