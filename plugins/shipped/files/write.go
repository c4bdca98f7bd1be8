package files

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/host/textedit"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
)

// diffContext is how many unchanged lines a preview shows around a change.
const diffContext = 3

func writeFile(ws *workspace.Workspace) tool.Tool {
	return &plannedTool{plan: planWrite, fileTool: &fileTool{workspace: ws, run: runWrite, definition: &tool.Definition{
		Name:     "write_file",
		Title:    "Write file",
		Category: "file",
		Description: "Write a whole file: a new one, with the directories that are missing, or in place of the old content. " +
			"The file is replaced at once, so nobody sees half of it. To change a part of a file use edit_file. " +
			"Returns: a sentence that names the file.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"content":{"type":"string","description":"The new content, all of it."},"path":{"type":"string","description":"Path of the file, relative to the workspace."}},"required":["content","path"],"additionalProperties":false}`),
		Risk:        tool.Dangerous,
		Permissions: []tool.Permission{tool.FileWrite},
		Idempotent:  true,
		Examples:    []tool.Example{example("Write a greeting.", `{"content":"Hello World","path":"greeting.txt"}`)},
	}}}
}

func appendFile(ws *workspace.Workspace) tool.Tool {
	return &plannedTool{plan: planAppend, fileTool: &fileTool{workspace: ws, run: runAppend, definition: &tool.Definition{
		Name:     "append_file",
		Title:    "Append to file",
		Category: "file",
		Description: "Add text at the very end of a file, or make the file when there is none, with the directories that are missing. " +
			"No newline is added: begin the text with one where the file does not end in one. " +
			"The text takes on the line endings and the encoding of the file. " +
			"Returns: a JSON object with a message that names the file.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"content":{"type":"string","description":"The text to add."},"path":{"type":"string","description":"Path of the file, relative to the workspace."}},"required":["content","path"],"additionalProperties":false}`),
		Returns:     json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"],"additionalProperties":false}`),
		Risk:        tool.SafeWrite,
		Permissions: []tool.Permission{tool.FileWrite},
		Examples:    []tool.Example{example("Add a line to a log.", `{"content":"New log entry.\n","path":"log.txt"}`)},
	}}}
}

func deleteFile(ws *workspace.Workspace) tool.Tool {
	return &plannedTool{plan: planDelete, fileTool: &fileTool{workspace: ws, run: runDelete, definition: &tool.Definition{
		Name:     "delete_file",
		Title:    "Delete file",
		Category: "file",
		Description: "Delete one file, for good. A symbolic link is deleted itself, not what it leads to; directories are refused. " +
			"Returns: a sentence that names the file.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"Path of the file, relative to the workspace."}},"required":["path"],"additionalProperties":false}`),
		Risk:        tool.Dangerous,
		Permissions: []tool.Permission{tool.FileWrite},
		Examples:    []tool.Example{example("Delete a file.", `{"path":"new_file.txt"}`)},
	}}}
}

type contentInput struct {
	Content string `json:"content"`
	Path    string `json:"path"`
}

func runWrite(_ context.Context, ws *workspace.Workspace, call *tool.Call) (*tool.Result, error) {
	in, file, err := contentAndFile(ws, call)
	if err != nil {
		return nil, err
	}
	if _, err := ws.WriteFile(in.Path, []byte(in.Content), workspace.WriteOptions{Parents: true}); err != nil {
		return nil, writeError(in.Path, err)
	}
	return tool.Textf("Successfully wrote to '%s'.", in.Path).Affecting(file), nil
}

func runAppend(_ context.Context, ws *workspace.Workspace, call *tool.Call) (*tool.Result, error) {
	in, file, err := contentAndFile(ws, call)
	if err != nil {
		return nil, err
	}
	addition := fitted(sample(ws, in.Path), in.Content)
	if _, err := ws.Append(in.Path, addition, workspace.WriteOptions{Parents: true}); err != nil {
		return nil, writeError(in.Path, err)
	}
	return tool.JSON(map[string]string{"message": "Successfully appended to '" + in.Path + "'."}).Affecting(file), nil
}

func runDelete(_ context.Context, ws *workspace.Workspace, call *tool.Call) (*tool.Result, error) {
	var in pathInput
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	file, err := ws.Rel(in.Path)
	if err != nil {
		return nil, err
	}
	if err := ws.Remove(in.Path); err != nil {
		return nil, deleteError(in.Path, err)
	}
	return tool.Textf("Successfully deleted file %s", in.Path).Affecting(file), nil
}

func contentAndFile(ws *workspace.Workspace, call *tool.Call) (in contentInput, file string, err error) {
	if err = call.Decode(&in); err != nil {
		return in, "", err
	}
	file, err = ws.Rel(in.Path)
	return in, file, err
}

// writeError gives a directory the contract's words; all else has its own.
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

func planWrite(_ context.Context, ws *workspace.Workspace, call *tool.Call) (*tool.Plan, error) {
	in, file, err := contentAndFile(ws, call)
	if err != nil {
		return nil, err
	}
	return planChange(ws, in.Path, file, func([]byte) []byte { return []byte(in.Content) })
}

func planAppend(_ context.Context, ws *workspace.Workspace, call *tool.Call) (*tool.Plan, error) {
	in, file, err := contentAndFile(ws, call)
	if err != nil {
		return nil, err
	}
	return planChange(ws, in.Path, file, func(old []byte) []byte { return append(old, fitted(old, in.Content)...) })
}

// planChange shows what a write would change. It refuses what the write would.
func planChange(ws *workspace.Workspace, path, file string, change func([]byte) []byte) (*tool.Plan, error) {
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

func planDelete(_ context.Context, ws *workspace.Workspace, call *tool.Call) (*tool.Plan, error) {
	var in pathInput
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
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
