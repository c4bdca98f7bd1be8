package search

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// Searcher searches a workspace. It is safe for concurrent use.
type Searcher struct {
	ws      *workspace.Workspace
	workers int // limit of files searched concurrently
}

// New returns a searcher.
func New(ws *workspace.Workspace) *Searcher { return &Searcher{ws: ws, workers: runtime.GOMAXPROCS(0)} }

// Mode says what to find.
type Mode int

const (
	// Lines finds every matching line.
	Lines Mode = iota
	// Files finds the files with a matching line.
	Files
	// Counts finds those files with their number of matching lines.
	Counts
)

// Query is one search.
type Query struct {
	// Pattern is a regular expression, or verbatim text if Literal.
	Pattern    string
	Literal    bool
	IgnoreCase bool
	// Dir is the directory to search, or a single file, searched whatever its name; "" is the whole workspace.
	Dir string
	// Globs select files. A glob without a slash is about the name, one with a slash about the path below Dir; **
	// matches any directories. A leading ! excludes files; a file must match one of the other globs. A single
	// glob with a literal directory prefix, such as build/*.go, includes that directory even if .gitignore
	// excludes it.
	Globs []string
	// Types select files by ripgrep's names for types ("go", "py") or by extension; one must match.
	Types []string
	// Hidden includes files and directories whose name starts with a dot.
	Hidden bool
	// NoIgnore includes what .gitignore excludes.
	NoIgnore bool
	// SkipDirs lists directories to leave out: literal slash paths relative to the workspace.
	SkipDirs []string
	// MaxDepth limits the levels below Dir; 0 means no limit.
	MaxDepth int
	Mode     Mode
	// Before and After are the lines of context of each match.
	Before, After int
	// Max limits the returned results after skipping Offset; all are counted. 0 means no limit.
	Max, Offset int
	// MaxBytes limits the returned results by their approximate size as JSON. The first is always returned, and all
	// are counted. 0 means no limit.
	MaxBytes int
	// MaxLine limits the returned lines, in bytes. A longer one is cut, around the match if there is one, with the
	// omission in brackets. 0 means no limit.
	MaxLine int
	// Timeout ends the search with the results so far; 0 means no limit.
	Timeout time.Duration

	stop <-chan struct{} // closed when the search ends
}

// Match is a matching line.
type Match struct {
	// Path is a slash path relative to the workspace, or absolute in another allowed directory.
	Path string
	// Line counts from 1.
	Line int
	// Text is the line without its end.
	Text string
	// Before and After are the lines around it.
	Before, After []string
}

// File is a file with a match.
type File struct {
	Path string
	// Lines is the number of matching lines, 0 in mode Files.
	Lines int
}

// Matches are the results of a search.
type Matches struct {
	// Lines are the results in mode Lines, Files in the others.
	Lines []Match
	Files []File
	// Total counts all results: matching lines, or files in mode Files.
	Total int
	// FilesMatched and FilesSearched count files, after a timeout those until then.
	FilesMatched, FilesSearched int
	// Truncated is set if there are more results after those returned.
	Truncated bool
	// Full is set if Query.MaxBytes, not Query.Max, limited them.
	Full bool
	// TimedOut is set if Query.Timeout ended the search.
	TimedOut bool
}

// errTimeUp ends a search after its own timeout.
var errTimeUp = errors.New("the time for the search is up")

// Grep searches. Without a match the result is empty. Errors: invalid_argument for a pattern or glob that does not
// parse, not_found or path_outside_workspace for the directory, cancelled with ctx. A timeout is not an error, see
// Matches.TimedOut.
func (s *Searcher) Grep(ctx context.Context, q Query) (*Matches, error) {
	p, err := compile(q)
	if err != nil {
		return nil, err
	}
	q = s.narrow(q)
	q.Offset = max(q.Offset, 0)
	f, err := newFilter(q)
	if err != nil {
		return nil, err
	}
	target, err := s.resolve(q.Dir)
	if err != nil {
		return nil, err
	}
	if q.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, q.Timeout, errTimeUp)
		defer cancel()
	}
	q.stop = ctx.Done()
	find := s.search
	if q.MaxBytes > 0 && q.Offset > 0 && q.Mode == Lines {
		find = s.page
	}
	hits, err := find(ctx, &job{q, p, f, target})
	if err != nil {
		return nil, err
	}
	return hits.matches(q), nil
}

type job struct {
	Query
	pattern *pattern
	filter  *filter
	target  target
}

// interrupted distinguishes a search that ran out of its own time, which is not an error, from a cancelled one.
func interrupted(ctx context.Context) (timedOut bool, err error) {
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
		return false, nil
	case errors.Is(cause, errTimeUp), errors.Is(cause, context.DeadlineExceeded):
		return true, nil
	default:
		return false, tool.Errorf(tool.Cancelled, "the search was cancelled: %w",
			cause).Suggest("Call again if it is still wanted.")
	}
}
