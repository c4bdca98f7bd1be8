package ocode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

type fileOpsParams struct {
	Operation   string `json:"operation"`
	Source      string `json:"source"`
	Destination string `json:"destination"`
}

func runFileOps(ctx context.Context, deps Deps, _ *tool.Call, p fileOpsParams) (*outcome, error) {
	if p.Operation == "remove" {
		return p.remove(deps.Workspace)
	}
	to, err := p.target(deps.Workspace)
	if err != nil {
		return nil, err
	}
	if p.Operation == "copy" {
		return p.copy(ctx, deps.Workspace, to)
	}
	return p.move(deps.Workspace, to)
}

func (p fileOpsParams) remove(ws *workspace.Workspace) (*outcome, error) {
	if p.Destination != "" {
		return nil, invalid("Leave destination out.", "A destination has no meaning for remove: %s", p.Destination)
	}
	rel, err := ws.Rel(p.Source)
	if err != nil {
		return nil, pathError(err, p.Source)
	}
	err = ws.Remove(p.Source)
	if tool.CodeOf(err) == tool.IsDirectory {
		err = p.removeDir(ws)
	}
	if err != nil {
		return nil, pathError(err, p.Source)
	}
	return &outcome{
		Outcome:  kit.Outcome{Files: []string{rel}},
		output:   "Removed " + p.Source,
		metadata: facts{"operation": p.Operation, "source": rel},
	}, nil
}

func (p fileOpsParams) removeDir(ws *workspace.Workspace) error {
	err := ws.RemoveDir(p.Source)
	if tool.CodeOf(err) != tool.Conflict {
		return err
	}
	how := fmt.Sprintf("Remove what is in it first, one file_ops call each, or all at once with the bash tool: rm -r -- '%s'",
		strings.ReplaceAll(p.Source,
			"'", `'\''`))
	return tool.Errorf(tool.Conflict, "Directory not empty: %s. %s", p.Source, how).Suggest("%s", how).
		With("path", p.Source)
}

func (p fileOpsParams) target(ws *workspace.Workspace) (string, error) {
	if p.Destination == "" {
		return "", invalid("Say where to, in destination.", "Destination is required for %s", p.Operation)
	}
	from, err := ws.Lstat(p.Source)
	if err != nil {
		return "", pathError(err, p.Source)
	}
	to := p.Destination
	info, err := ws.Stat(to)
	switch {
	case err == nil && info.IsDir(), tool.CodeOf(err) == tool.NotFound && strings.HasSuffix(to, "/"):
		to = path.Join(filepath.ToSlash(to), path.Base(path.Clean(filepath.ToSlash(p.Source))))
	case err != nil && tool.CodeOf(err) != tool.NotFound:
		return "", pathError(err, to)
	}
	there, err := ws.Lstat(to)
	if err == nil && os.SameFile(from, there) {
		return "",
			invalid("Choose another destination.", "Source and destination are the same file: %s and %s", p.Source,
				p.Destination)
	}
	return to, nil
}

func (p fileOpsParams) move(ws *workspace.Workspace, to string) (*outcome, error) {
	from, target, err := p.names(ws, to)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(target, from+"/") || from == "." {
		return nil,
			invalid("Choose a destination outside of it.", "A directory cannot be moved into itself: %s", p.Source)
	}
	there, missing := ws.Lstat(to)
	if missing == nil && there.IsDir() {
		return nil, inTheWay(target)
	}
	if dir := path.Dir(filepath.ToSlash(target)); missing != nil && dir != "." {
		if _, err := ws.Mkdir(dir, true); err != nil {
			return nil, pathError(err, p.Destination)
		}
	}
	if err := ws.Rename(p.Source, to, true); err != nil {
		return nil, pathError(err, p.blamed(err))
	}
	return p.done("Moved", from, target, missing == nil, nil, from, target), nil
}

// inTheWay returns an error that says what exists at target.
func inTheWay(target string) error {
	return pathError(tool.Errorf(tool.AlreadyExists, "exists").
		Suggest("Choose another destination, or remove what is there."), target)
}

func (p fileOpsParams) names(ws *workspace.Workspace, to string) (from, target string, err error) {
	if from, err = ws.Rel(p.Source); err != nil {
		return "", "", pathError(err, p.Source)
	}
	if target, err = ws.Rel(to); err != nil {
		return "", "", pathError(err, p.Destination)
	}
	return from, target, nil
}

func (p fileOpsParams) blamed(err error) string {
	if path, ok := tool.AsError(err).Details["path"].(string); ok {
		return path
	}
	return p.Source
}

func (p fileOpsParams) done(did, from, to string, replaced bool, count *int, files ...string) *outcome {
	o := &outcome{
		Outcome:  kit.Outcome{Files: files},
		output:   fmt.Sprintf("%s %s to %s", did, p.Source, to),
		metadata: facts{"operation": p.Operation, "source": from, "destination": to, "replaced": replaced},
	}
	if replaced {
		o.output += " (replaced the file that was there)"
	}
	if count != nil {
		o.metadata["files"] = *count
	}
	return o
}

const (
	// copyFiles and copyBytes limit one copy.
	copyFiles = 5_000
	copyBytes = 256 << 20
)

func (p fileOpsParams) copy(ctx context.Context, ws *workspace.Workspace, to string) (*outcome, error) {
	from, target, err := p.names(ws, to)
	if err != nil {
		return nil, err
	}
	info, err := ws.Stat(p.Source)
	if err != nil {
		return nil, pathError(err, p.Source)
	}
	if info.IsDir() {
		return p.copyDir(ctx, ws, from, target)
	}
	data, _, err := ws.ReadFile(p.Source, copyBytes)
	if err != nil {
		return nil, pathError(err, p.Source)
	}
	created, err := ws.WriteFile(to, data, workspace.WriteOptions{Parents: true, Mode: info.Mode().Perm()})
	if err != nil {
		return nil, pathError(err, p.blamed(err))
	}
	one := 1
	return p.done("Copied", from, target, !created, &one, target), nil
}

// copyDir copies all files of a directory, or none.
func (p fileOpsParams) copyDir(ctx context.Context, ws *workspace.Workspace, from, target string) (*outcome, error) {
	if target == from || strings.HasPrefix(target, from+"/") || from == "." {
		return nil,
			invalid("Choose a destination outside of it.", "A directory cannot be copied into itself: %s", p.Source)
	}
	if _, err := ws.Lstat(target); err == nil {
		return nil, inTheWay(target)
	}
	changes, dirs, err := p.collect(ctx, ws, from, target)
	if err != nil {
		return nil, err
	}
	if err := ws.Batch(ctx, changes); err != nil {
		return nil, pathError(err, p.blamed(err))
	}
	for _, dir := range dirs {
		if _, err := ws.Mkdir(dir, true); err != nil {
			return nil, pathError(err, dir)
		}
	}
	files := make([]string, len(changes))
	for i, c := range changes {
		files[i] = c.Path
	}
	n := len(changes)
	return p.done("Copied", from, target, false, &n, files...), nil
}

func (p fileOpsParams) collect(ctx context.Context, ws *workspace.Workspace, from,
	target string) (changes []workspace.Change, dirs []string, err error) {
	left := int64(copyBytes)
	dirs = []string{target}
	var unread error
	skipped := func(_ string, err error) { unread = errors.Join(unread, err) }
	err = ws.Walk(ctx, from, workspace.WalkOptions{Hidden: true, OnSkip: skipped}, func(e workspace.Entry) error {
		to := path.Join(target, strings.TrimPrefix(filepath.ToSlash(e.Path), from+"/"))
		switch {
		case e.Dir:
			dirs = append(dirs, to)
			return nil
		case !e.Type.IsRegular() && !e.Symlink:
			return nil
		case len(changes) == copyFiles:
			return p.tooMuch()
		}
		change, err := p.creation(ws, e, to, left)
		if err != nil {
			return err
		}
		left -= int64(len(change.Data))
		changes = append(changes, change)
		return nil
	})
	if err == nil {
		err = unread
	}
	if err != nil {
		return nil, nil, pathError(err, p.blamed(err))
	}
	return changes, dirs, nil
}

func (p fileOpsParams) creation(ws *workspace.Workspace, e workspace.Entry, to string, left int64) (workspace.Change,
	error) {
	data, info, err := ws.ReadFile(e.Path, max(left, 1))
	if e.Symlink && err != nil && tool.CodeOf(err) != tool.TooLarge {
		return workspace.Change{}, tool.Errorf(tool.Unsupported,
			"Cannot copy the symbolic link %s: its target is not a file in the workspace", e.Path).
			Suggest("Copy the directory with the bash tool, links and all: cp -r, or copy parts of it.").With("path",
			e.Path)
	}
	if tool.CodeOf(err) == tool.TooLarge {
		return workspace.Change{}, p.tooMuch()
	}
	if err != nil {
		return workspace.Change{}, err
	}
	return workspace.Change{Kind: workspace.Create, Path: to, Data: data, Mode: info.Mode() & fs.ModePerm}, nil
}

func (p fileOpsParams) tooMuch() error {
	return tool.Errorf(tool.TooLarge, "Directory too large to copy at once: %s has more than %d files or %d MB",
		p.Source,
		copyFiles, copyBytes>>20).
		Suggest("Copy it with the bash tool: cp -r, or copy parts of it.")
}

func planFileOps(_ context.Context, deps Deps, p fileOpsParams) (*tool.Plan, error) {
	ws := deps.Workspace
	if p.Operation == "remove" {
		if _, err := ws.Check(p.Source, workspace.Remove); err != nil {
			return nil, pathError(err, p.Source)
		}
		if _, err := ws.Lstat(p.Source); err != nil {
			return nil, pathError(err, p.Source)
		}
		rel, err := ws.Rel(p.Source)
		return &tool.Plan{FilesAffected: []string{rel}, Preview: "remove " + rel + "\n"}, err
	}
	to, err := p.target(ws)
	if err != nil {
		return nil, err
	}
	if _, err := ws.Check(to, workspace.Write); err != nil {
		return nil, pathError(err, to)
	}
	from, target, err := p.names(ws, to)
	if err != nil {
		return nil, err
	}
	files := []string{target}
	if p.Operation == "move" {
		files = []string{from, target}
	}
	return &tool.Plan{FilesAffected: files, Preview: p.Operation + " " + from + " to " + target + "\n"}, nil
}
