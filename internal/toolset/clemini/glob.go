package clemini

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

type globInput struct {
	Pattern   string  `json:"pattern"`
	Directory string  `json:"directory"`
	Sort      string  `json:"sort"`
	Limit     integer `json:"head_limit"`
	Offset    integer `json:"offset"`
}

type globResult struct {
	Matches   []string `json:"matches"`
	Count     int      `json:"count"`
	Total     int      `json:"total_found"`
	Truncated bool     `json:"truncated"`
	Context   *hint    `json:"context,omitempty"`
}

// hint says how to get what a success leaves out.
type hint struct {
	Hint string `json:"hint"`
}

// more returns the hint for a list that was cut; next is the offset of the rest.
func more(next int, instead string) *hint {
	return &hint{fmt.Sprintf("An answer holds no more than %d MiB. %s with offset %d.", maxMatches>>20, instead, next)}
}

func runGlob(ctx context.Context, deps Deps, call *tool.Call, in globInput) (*outcome, error) {
	pattern, err := in.full(deps.Workspace)
	if err != nil {
		return nil, err
	}
	names, err := deps.Workspace.Glob(ctx, pattern,
		workspace.GlobOptions{Gitignore: true, FilesOnly: true, SkipDirs: kit.OwnDirs()})
	if err != nil {
		return nil, pathError(err, in.Pattern, "Check the directory.")
	}
	files := in.sorted(deps.Workspace, names)
	asked := page(files, int(in.Offset), int(in.Limit))
	shown := fitting(asked)
	r := globResult{Matches: shown, Count: len(shown), Total: len(files),
		Truncated: int(in.Offset)+len(shown) < len(files)}
	if len(shown) < len(asked) {
		r.Context = more(int(in.Offset)+len(shown), "Narrow the pattern, or go on")
	}
	return &outcome{data: r, Outcome: kit.Outcome{Truncated: r.Truncated}}, nil
}

// full returns the pattern below the directory.
func (in globInput) full(ws *workspace.Workspace) (string, error) {
	if err := checkDirectory(ws, in.Directory); err != nil {
		return "", err
	}
	if in.Directory == "" || in.Directory == "." || filepath.IsAbs(in.Pattern) {
		return in.Pattern, nil
	}
	return strings.TrimSuffix(kit.EscapePattern(filepath.ToSlash(in.Directory)), "/") + "/" + in.Pattern, nil
}

// checkDirectory refuses anything but a directory. "" is the workspace.
func checkDirectory(ws *workspace.Workspace, dir string) error {
	if dir == "" {
		return nil
	}
	info, err := ws.Stat(dir)
	switch {
	case tool.CodeOf(err) == tool.NotFound, tool.CodeOf(err) == tool.NotADirectory:
		return tool.Errorf(tool.NotFound, "Directory not found: %s", dir).
			Suggest("Check the path, or leave it out to take the whole workspace.").With("directory", dir)
	case err != nil:
		return pathError(err, dir, "")
	case !info.IsDir():
		return tool.Errorf(tool.NotADirectory, "Not a directory: %s", dir).
			Suggest("Name a directory; read_file shows a file.").With("directory", dir)
	}
	return nil
}

// sorted sorts files in the requested order, equal ones by name.
func (in globInput) sorted(ws *workspace.Workspace, names []string) []string {
	type file struct {
		name string
		info fs.FileInfo
	}
	files := make([]file, 0, len(names))
	for _, name := range names {
		info, err := ws.Lstat(name)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			info, err = ws.Stat(name)
		}
		if err == nil && info.Mode().IsRegular() {
			files = append(files, file{name, info})
		}
	}
	slices.SortStableFunc(files, func(a, b file) int {
		switch in.Sort {
		case "modified":
			return b.info.ModTime().Compare(a.info.ModTime())
		case "size":
			return cmp.Compare(b.info.Size(), a.info.Size())
		}
		return 0
	})
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.name
	}
	return out
}

// fitting returns as many of the first names as fit in an answer.
func fitting(names []string) []string {
	size := 0
	for i, name := range names {
		if size += len(name) + len(`"",`); size > maxMatches {
			return names[:i]
		}
	}
	return names
}

// page returns the requested part of a list. A limit of 0 means no limit.
func page[T any](all []T, offset, limit int) []T {
	all = all[min(offset, len(all)):]
	if limit > 0 {
		all = all[:min(limit, len(all))]
	}
	return append([]T{}, all...)
}
