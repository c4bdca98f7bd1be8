package files

import (
	"bytes"
	"context"
	"io"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// diffContext is the number of unchanged lines around a change in a preview.
const diffContext = 3

type contentInput struct {
	Content string `json:"content"`
	Path    string `json:"path"`
}

func runWrite(_ context.Context, d deps, _ *tool.Call, in contentInput) (*tool.Result, error) {
	ws := d.workspace
	file, err := ws.Rel(in.Path)
	if err != nil {
		return nil, err
	}
	if _, err := ws.WriteFile(in.Path, []byte(in.Content), workspace.WriteOptions{Parents: true}); err != nil {
		return nil, writeError(in.Path, err)
	}
	return tool.Textf("Successfully wrote to '%s'.", in.Path).Affecting(file), nil
}

func runAppend(_ context.Context, d deps, _ *tool.Call, in contentInput) (*tool.Result, error) {
	ws := d.workspace
	file, err := ws.Rel(in.Path)
	if err != nil {
		return nil, err
	}
	addition := fitted(sample(ws, in.Path), in.Content)
	if _, err := ws.Append(in.Path, addition, workspace.WriteOptions{Parents: true}); err != nil {
		return nil, writeError(in.Path, err)
	}
	return tool.JSON(map[string]string{"message": "Successfully appended to '" + in.Path + "'."}).Affecting(file), nil
}

func runDelete(_ context.Context, d deps, _ *tool.Call, in pathInput) (*tool.Result, error) {
	ws := d.workspace
	file, err := ws.Rel(in.Path)
	if err != nil {
		return nil, err
	}
	if err := ws.Remove(in.Path); err != nil {
		return nil, deleteError(in.Path, err)
	}
	return tool.Textf("Successfully deleted file %s", in.Path).Affecting(file), nil
}

func writeError(path string, err error) error {
	if tool.CodeOf(err) == tool.IsDirectory {
		return isDirectory(path, "Name a file in it.")
	}
	return err
}

func deleteError(path string, err error) error {
	switch tool.CodeOf(err) {
	case tool.NotFound:
		return tool.Errorf(tool.NotFound, "file does not exist: %s", path).
			Suggest("Use list_files or glob to see which files there are.").With("path", path)
	case tool.IsDirectory:
		return isDirectory(path, "Only files can be deleted; for a directory use rm with -r.")
	}
	return err
}

func planWrite(_ context.Context, d deps, in contentInput) (*tool.Plan, error) {
	return planChange(d.workspace, in.Path, func([]byte) []byte { return []byte(in.Content) })
}

func planAppend(_ context.Context, d deps, in contentInput) (*tool.Plan, error) {
	return planChange(d.workspace, in.Path, func(old []byte) []byte { return append(old, fitted(old, in.Content)...) })
}

// planChange shows what a write would change. It refuses what the write would.
func planChange(ws *workspace.Workspace, path string, change func([]byte) []byte) (*tool.Plan, error) {
	file, err := ws.Rel(path)
	if err != nil {
		return nil, err
	}
	if _, err := ws.Check(path, workspace.Write); err != nil {
		return nil, err
	}
	old, _, err := ws.ReadFile(path, 0)
	oldName := file
	switch tool.CodeOf(err) {
	case "":
	case tool.NotFound:
		oldName = textedit.DevNull
	default:
		return nil, writeError(path, err)
	}
	return plan(file, oldName, file, old, change(old)), nil
}

func planDelete(_ context.Context, d deps, in pathInput) (*tool.Plan, error) {
	ws := d.workspace
	file, err := ws.Rel(in.Path)
	if err != nil {
		return nil, err
	}
	if _, err := ws.Check(in.Path, workspace.Remove); err != nil {
		return nil, err
	}
	info, err := ws.Lstat(in.Path)
	switch {
	case err != nil:
		return nil, deleteError(in.Path, err)
	case info.IsDir():
		return nil, isDirectory(in.Path, "Only files can be deleted; for a directory use rm with -r.")
	case !info.Mode().IsRegular():
		return &tool.Plan{FilesAffected: []string{file}, Preview: "delete " + file + "\n"}, nil
	}
	old, _, err := ws.ReadFile(in.Path, 0)
	if err != nil {
		return nil, err
	}
	return plan(file, file, textedit.DevNull, old, nil), nil
}

func plan(file, oldName, newName string, old, new []byte) *tool.Plan {
	p := &tool.Plan{FilesAffected: []string{file}}
	if textedit.IsBinary(old) || textedit.IsBinary(new) {
		p.Preview = "binary file " + file + "\n"
		return p
	}
	p.Preview = textedit.Diff(oldName, newName, old, new, diffContext)
	return p
}

// sampleSize is how much of a file's end is read to detect its format, in bytes; even, so that no UTF-16 unit
// is cut.
const sampleSize = 64 << 10

// sample returns the end of a file, after its byte order mark; nil if unreadable.
func sample(ws *workspace.Workspace, path string) []byte {
	f, err := ws.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	mark := make([]byte, min(2, info.Size()))
	from := max(0, info.Size()-sampleSize) &^ 1
	end := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(mark, 0); err != nil && err != io.EOF {
		return nil
	}
	if _, err := f.ReadAt(end, from); err != nil && err != io.EOF {
		return nil
	}
	switch {
	case from == 0:
		return end
	case string(mark) == "\xff\xfe" || string(mark) == "\xfe\xff":
		return append(mark, end...)
	}
	for i := 0; i < utf8.UTFMax && len(end) > 0 && !utf8.RuneStart(end[0]); i++ {
		end = end[1:]
	}
	return end
}

// fitted returns text in the encoding and with the line endings of sample.
func fitted(sample []byte, text string) []byte {
	t, err := textedit.Decode(sample)
	if err != nil {
		return []byte(text) // a binary file
	}
	before := t.Encode()
	t.Append(text)
	if addition, ok := bytes.CutPrefix(t.Encode(), before); ok {
		return addition
	}
	return []byte(text)
}
