package cliagent

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
)

const maxEntries = 1000

type listDirParams struct {
	Path   string  `json:"path"`
	Offset integer `json:"offset"`
}

type listDirMetadata struct {
	TotalEntries int `json:"total_entries"`
	Files        int `json:"files"`
	Directories  int `json:"directories"`
}

func runListDir(_ context.Context, deps Deps, _ *tool.Call, p listDirParams) (*outcome, error) {
	if p.Path == "" {
		p.Path = "."
	}
	entries, err := deps.Workspace.ReadDir(p.Path)
	if err != nil {
		return nil, pathError(err, p.Path, texts{
			missing: fmt.Sprintf("Path '%s' not found", p.Path),
			denied:  "Cannot list directory - permission denied",
			find:    "Check the path and try again; list_dir without a path shows the working directory.",
		})
	}
	files, dirs := sorted(deps, p.Path, entries)
	names := append(files, dirs...)
	offset := min(int(p.Offset), len(names))
	end := min(offset+maxEntries, len(names))
	o := &outcome{metadata: listDirMetadata{len(names), len(files), len(dirs)}}
	o.Truncated = end-offset < len(names)
	o.output = "Contents of " + p.Path + ":\n"
	for _, name := range names[offset:end] {
		o.output += "  " + name + "\n"
	}
	o.output += leftOut(offset, end, len(names))
	return o, nil
}

func leftOut(offset, end, total int) string {
	switch {
	case end < total:
		return fmt.Sprintf("Warning: Showing entries %d-%d of %d, %d more are left out; continue with offset %d\n",
			offset+1,
			end, total, total-end, end)
	case offset == total && total > 0:
		return fmt.Sprintf("Warning: There are no entries from offset %d, the directory has %d\n", offset, total)
	}
	return ""
}

// sorted returns the sorted names of files and directories. A symlink counts as its target, as a
// file if that is unknown.
func sorted(deps Deps, dir string, entries []fs.DirEntry) (files, dirs []string) {
	for _, e := range entries {
		isDir := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := deps.Workspace.Stat(path.Join(dir, e.Name()))
			isDir = err == nil && info.IsDir()
		}
		if isDir {
			dirs = append(dirs, shownName(e.Name())+"/")
		} else {
			files = append(files, shownName(e.Name()))
		}
	}
	return files, dirs
}

// shownName quotes a name that is not text on one line.
func shownName(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
