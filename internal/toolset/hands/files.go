package hands

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/fileedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// Write writes a file and creates missing directories.
func Write(ctx context.Context, ws *workspace.Workspace, name, text string) (o *Outcome, created bool, err error) {
	rel, err := ws.Rel(name)
	if err != nil {
		return nil, false, err
	}
	created, err = ws.WithContext(ctx).WriteFile(name, []byte(text), workspace.WriteOptions{Parents: true})
	if err != nil {
		return nil, false, err
	}
	return &Outcome{Outcome: kit.Outcome{Files: []string{rel}}}, created, nil
}

// Change changes an existing file in one atomic step, and keeps its encoding.
func Change(
	ctx context.Context, ws *workspace.Workspace, name string, change func(*textedit.Text) error,
) (*Outcome, error) {
	o, err := fileedit.Apply(ctx, ws, edit(name, change))
	if err != nil {
		return nil, err
	}
	return &Outcome{Outcome: kit.Outcome{Files: o.Files()}}, nil
}

func edit(name string, change func(*textedit.Text) error) fileedit.Edit {
	return fileedit.Edit{Path: name, Change: func(old []byte) ([]byte, error) {
		text, err := textedit.Decode(old)
		if err != nil {
			return nil, err
		}
		if err := change(text); err != nil {
			return nil, err
		}
		return text.Encode(), nil
	}}
}

// Replace replaces old, which occurs once unless all is set, and returns the lines where it was. missing and several
// are the vendor's errors; missing gets the closest lines.
func Replace(
	text *textedit.Text, old, new string, all bool, missing *tool.Error, several func(lines []int) error,
) ([]int, error) {
	options := textedit.ReplaceOptions{Which: textedit.Exactly}
	if all {
		options.Which = textedit.All
	}
	done, err := text.Replace(old, new, options)
	var miss *textedit.MatchError
	switch {
	case err == nil:
		return done.Lines, nil
	case !errors.As(err, &miss):
	case miss.Code == tool.NotUnique:
		return nil, several(miss.Lines)
	case miss.Code == tool.NoMatch && len(miss.Nearest) > 0:
		return nil, missing.Suggest("%s\n%s", textedit.Explain(miss.Nearest), textedit.MissSuggestion(miss.Nearest))
	case miss.Code == tool.NoMatch:
		return nil, missing
	}
	return nil, err
}

// PlanWrite returns what Write would do.
func PlanWrite(ctx context.Context, ws *workspace.Workspace, name, text string) (*tool.Plan, error) {
	_, err := ws.Stat(name)
	o, err := fileedit.Preview(ctx, ws, fileedit.Edit{Path: name, Create: tool.CodeOf(err) == tool.NotFound,
		Change: func([]byte) ([]byte, error) { return []byte(text), nil }})
	if err != nil {
		return nil, err
	}
	return o.Plan(), nil
}

// PlanChange returns what Change would do.
func PlanChange(
	ctx context.Context, ws *workspace.Workspace, name string, change func(*textedit.Text) error,
) (*tool.Plan, error) {
	o, err := fileedit.Preview(ctx, ws, edit(name, change))
	if err != nil {
		return nil, err
	}
	return o.Plan(), nil
}

// PlanCommand shows a command: its changes cannot be predicted.
func PlanCommand(command string) *tool.Plan { return &tool.Plan{Preview: "$ " + command + "\n"} }

// Glob returns the absolute paths of matching files below a directory, newest first.
func Glob(ctx context.Context, ws *workspace.Workspace, pattern, dir string, gitignore bool) ([]string, error) {
	if dir != "" {
		if _, err := kit.Listed(ws, dir, "Name the directory to search in."); err != nil {
			return nil, err
		}
		pattern = strings.TrimSuffix(kit.EscapePattern(filepath.ToSlash(dir)), "/") + "/" + pattern
	}
	names, err := ws.WithContext(ctx).Glob(ctx, pattern, workspace.GlobOptions{
		FilesOnly: gitignore, Gitignore: gitignore, SkipDirs: kit.OwnDirs(),
	})
	if err != nil {
		return nil, err
	}
	type file struct {
		name string
		info fs.FileInfo
	}
	var files []file
	for _, name := range names {
		if info, err := ws.Lstat(name); err == nil {
			files = append(files, file{name, info})
		}
	}
	slices.SortStableFunc(files, func(a, b file) int { return b.info.ModTime().Compare(a.info.ModTime()) })
	found := make([]string, len(files))
	for i, f := range files {
		if found[i] = f.name; !filepath.IsAbs(f.name) {
			found[i] = filepath.Join(ws.Root(), f.name)
		}
	}
	return found, nil
}

// imageTypes are the types that models accept, by file extension.
var imageTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
}

const maxImage = 5 << 20 // bytes

// Image returns an image file, nil if name has no image's extension.
func Image(ws *workspace.Workspace, name string) (*Outcome, error) {
	kind := imageTypes[strings.ToLower(filepath.Ext(name))]
	if kind == "" {
		return nil, nil
	}
	data, _, err := ws.ReadFile(name, maxImage)
	if err != nil {
		return nil, err
	}
	return &Outcome{Image: &tool.Content{Kind: tool.KindImage, Data: data, MIMEType: kind}}, nil
}
