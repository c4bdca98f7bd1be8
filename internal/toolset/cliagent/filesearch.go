package cliagent

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

const (
	maxFound = 1000
	maxDepth = 20
)

type fileSearchParams struct {
	Pattern string `json:"pattern"`
	Base    string `json:"base_path"`
}

type fileSearchMetadata struct {
	Matches int    `json:"matches"`
	Pattern string `json:"pattern"`
}

func runFileSearch(ctx context.Context, deps Deps, _ *tool.Call, p fileSearchParams) (*outcome, error) {
	if err := checkGlob(p.Pattern); err != nil {
		return nil, err
	}
	if err := p.checkBase(deps); err != nil {
		return nil, err
	}
	f, err := p.finder(deps)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, deps.SearchTimeout)
	defer cancel()
	err = f.walk(limited, deps)
	if err = f.late(ctx, limited, err); err != nil {
		return nil, err
	}
	return p.report(deps, f), nil
}

func checkGlob(pattern string) error {
	if pattern != "" && doublestar.ValidatePattern(filepath.ToSlash(pattern)) {
		return nil
	}
	return tool.Errorf(codeInvalidPattern, "Invalid glob pattern '%s'", pattern).
		Suggest("Close every bracket and brace; a backslash takes the next character as it is.").With("pattern",
		pattern)
}

func (p *fileSearchParams) checkBase(deps Deps) error {
	if p.Base == "" {
		p.Base = "."
	}
	info, err := deps.Workspace.Stat(p.Base)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		return notDirectory(p.Base)
	}
	return pathError(err, p.Base, texts{
		missing: fmt.Sprintf("Path '%s' not found", p.Base),
		denied:  fmt.Sprintf("Cannot search '%s' - permission denied", p.Base),
		find:    "Check the path and try again; list_dir shows what is there.",
	})
}

type fileFinder struct {
	// dir is the directory where the pattern's wildcards start, rest the part with them, depth the
	// levels of dir below the base.
	dir, rest string
	depth     int
	// shown is dir's name in results, real the name in the walk.
	shown, real string

	found          []string
	total          int
	deeper, expiry bool
}

func (p fileSearchParams) finder(deps Deps) (*fileFinder, error) {
	static, rest := doublestar.SplitPattern(path.Clean(filepath.ToSlash(p.Pattern)))
	f := &fileFinder{rest: rest, dir: static}
	if !filepath.IsAbs(filepath.FromSlash(static)) {
		f.dir = path.Join(filepath.ToSlash(p.Base), static)
		f.depth = levels(static)
	}
	var err error
	if f.shown, err = deps.Workspace.Rel(f.dir); err != nil {
		return nil, pathError(err, p.Pattern, texts{})
	}
	real, err := deps.Workspace.Check(f.dir, workspace.Read)
	if err == nil {
		f.real, err = deps.Workspace.Rel(real)
	}
	if err != nil {
		return nil, pathError(err, f.dir, texts{denied: fmt.Sprintf("Cannot search '%s' - permission denied", f.dir)})
	}
	return f, nil
}

func levels(p string) int {
	if p == "." || p == "" {
		return 0
	}
	return strings.Count(p, "/") + 1
}

func (f *fileFinder) walk(ctx context.Context, deps Deps) error {
	if f.depth >= maxDepth {
		f.deeper = true
		return nil
	}
	options := workspace.WalkOptions{Gitignore: true, Hidden: true, MaxDepth: maxDepth - f.depth}
	err := deps.Workspace.Walk(ctx, f.dir, options, func(e workspace.Entry) error { return f.visit(deps, e) })
	if code := tool.CodeOf(err); code == tool.NotFound || code == tool.NotADirectory {
		return nil
	}
	return err
}

func (f *fileFinder) visit(deps Deps, e workspace.Entry) error {
	rel := relativeTo(f.real, e.Path)
	if e.Dir {
		f.deeper = f.deeper || f.depth+levels(rel) >= maxDepth
		return nil
	}
	if !doublestar.MatchUnvalidated(f.rest, rel) || e.Symlink && !leadsToFile(deps, e.Path) {
		return nil
	}
	f.total++
	if len(f.found) < maxFound {
		f.found = append(f.found, path.Join(f.shown, rel))
	}
	return nil
}

func leadsToFile(deps Deps, name string) bool {
	info, err := deps.Workspace.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// relativeTo returns name relative to dir; both are relative to the workspace.
func relativeTo(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// late ignores the end of the search time, and returns other errors.
func (f *fileFinder) late(ctx, limited context.Context, err error) error {
	f.expiry = ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded)
	if f.expiry && tool.CodeOf(err) == tool.Timeout {
		return nil
	}
	return err
}

func (p fileSearchParams) report(deps Deps, f *fileFinder) *outcome {
	o := &outcome{metadata: fileSearchMetadata{f.total, p.Pattern}}
	o.Truncated = f.total > len(f.found) || f.expiry || f.deeper
	lines := []string{fmt.Sprintf("Found %d files matching '%s':", f.total, p.Pattern)}
	if f.total == 0 {
		lines[0] = fmt.Sprintf("No files found matching pattern '%s'", p.Pattern)
	}
	for _, name := range f.found {
		lines = append(lines, "  "+shownName(name))
	}
	if f.total > len(f.found) {
		lines = append(lines, fmt.Sprintf("Warning: Found %d matches, showing first %d", f.total, len(f.found)),
			"Use a narrower pattern or base_path to see the others.")
	}
	if f.deeper {
		lines = append(lines, fmt.Sprintf(
			"Warning: Directories more than %d levels deep were not searched; name one as base_path", maxDepth))
	}
	if f.expiry {
		lines = append(lines, timedOutWarning(deps))
	}
	o.output = strings.Join(lines, "\n")
	return o
}

func timedOutWarning(deps Deps) string {
	return fmt.Sprintf("Warning: Search timed out after %gs, returning partial results", deps.SearchTimeout.Seconds())
}
