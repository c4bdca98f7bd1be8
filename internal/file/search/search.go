package search

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// Searcher searches a workspace. It may be used from many goroutines.
type Searcher struct {
	ws      *workspace.Workspace
	workers int // files that are searched at the same time
}

// New makes a searcher. It reads nothing.
func New(ws *workspace.Workspace) *Searcher { return &Searcher{ws: ws, workers: runtime.GOMAXPROCS(0)} }

// Mode is what a search is to find.
type Mode int

const (
	// Lines finds every matching line.
	Lines Mode = iota
	// Files finds the files that have a matching line.
	Files
	// Counts finds those files and how many matching lines they have.
	Counts
)

// Query is one search.
type Query struct {
	// Pattern is a regular expression, or a text to find as it is if Literal.
	Pattern    string
	Literal    bool
	IgnoreCase bool
	// Dir is the directory to search, or a single file, which is searched
	// whatever its name; "" is the whole workspace.
	Dir string
	// Globs choose files. A glob without a slash is about the name, one with a
	// slash about the path below Dir; ** stands for any directories. One that
	// begins with ! leaves files out. A file has to match one of the others. A
	// single glob that names a directory by its beginning, as build/*.go does, has
	// it searched even where .gitignore leaves it out.
	Globs []string
	// Types choose files by ripgrep's names for types ("go", "py"), or by
	// their extension. A file has to be of one of them.
	Types []string
	// Hidden includes files and directories whose name begins with a dot.
	Hidden bool
	// NoIgnore includes what .gitignore leaves out.
	NoIgnore bool
	// SkipDirs lists directories to leave out: slash paths relative to the
	// workspace, of plain characters.
	SkipDirs []string
	// MaxDepth bounds the levels below Dir; 0 is no bound.
	MaxDepth int
	Mode     Mode
	// Before and After are how many lines of context each match gets.
	Before, After int
	// Max bounds how many results are returned, after Offset were left out.
	// They are still counted. 0 is no bound.
	Max, Offset int
	// MaxBytes bounds the results that are returned, by about what they take
	// as JSON. The first is returned whatever its size, and all are counted.
	// 0 is no bound.
	MaxBytes int
	// MaxLine bounds the lines that are returned, in bytes. Of a longer one a
	// part is, in a match the part that matches, with what is left out said in
	// brackets. 0 is no bound.
	MaxLine int
	// Timeout ends the search with what was found until then; 0 is no bound.
	Timeout time.Duration

	stop <-chan struct{} // closed when the search ends
}

// Match is one matching line.
type Match struct {
	// Path is a slash path relative to the workspace, or absolute in a further
	// directory that the operator allowed.
	Path string
	// Line counts from 1.
	Line int
	// Text is the line without its end.
	Text string
	// Before and After are the lines around it.
	Before, After []string
}

// File is one file with a match.
type File struct {
	Path string
	// Lines is how many lines match. It is 0 in mode Files.
	Lines int
}

// Matches is what a search found.
type Matches struct {
	// Lines are the results in mode Lines, Files in the others.
	Lines []Match
	Files []File
	// Total is how many results there are, returned or not: matching lines, or
	// files in mode Files.
	Total int
	// FilesMatched and FilesSearched count files. After a timeout they are
	// about what was done until then.
	FilesMatched, FilesSearched int
	// Truncated is true when there are more results behind those returned.
	Truncated bool
	// Full is true when Query.MaxBytes, not Query.Max, ended them.
	Full bool
	// TimedOut is true when time was up before all was searched.
	TimedOut bool
}

// errTimeUp ends a search whose own time is up.
var errTimeUp = errors.New("the time for the search is up")

// Grep searches. No match is an empty result. Errors: invalid_argument for a
// pattern or glob that does not parse, not_found or path_outside_workspace for
// the directory, cancelled with ctx. Time that is up is no error, see Matches.TimedOut.
func (s *Searcher) Grep(ctx context.Context, q Query) (*Matches, error) {
	p, err := compile(q)
	if err != nil {
		return nil, err
	}
	q = s.narrow(q)
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

// job is a query that was checked.
type job struct {
	Query
	pattern *pattern
	filter  *filter
	target  target
}

// interrupted tells a search that ran out of its time, which is no error, from
// one that was called off.
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
