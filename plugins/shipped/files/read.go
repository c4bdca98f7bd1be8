package files

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/host/textedit"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/host/workspace"
	"github.com/toolhost/toolhost/plugins/shipped/internal/contract"
)

// readLimit is the largest file, in bytes, that read_file shows.
const readLimit = 10 << 20

func readFile(ws *workspace.Workspace) tool.Tool {
	return &fileTool{workspace: ws, run: runRead, definition: &tool.Definition{
		Name:     "read_file",
		Title:    "Read file",
		Category: "file",
		Description: "Read a whole text file as it is, without line numbers. Fails for a directory (use list_files), " +
			"a missing file, a binary file and one of more than 10 MiB (use head, tail or rg). " +
			"Returns: the content of the file.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"Path of the file, relative to the workspace."}},"required":["path"],"additionalProperties":false}`),
		Risk:        tool.ReadOnly,
		Permissions: []tool.Permission{tool.FileRead},
		Idempotent:  true,
		Examples:    []tool.Example{example("Read the README.", `{"path":"README.md"}`)},
	}}
}

type pathInput struct {
	Path string `json:"path"`
}

func runRead(_ context.Context, ws *workspace.Workspace, call *tool.Call) (*tool.Result, error) {
	var in pathInput
	if err := call.Decode(&in); err != nil {
		return nil, err
	}
	data, _, err := ws.ReadFile(in.Path, readLimit)
	switch tool.CodeOf(err) {
	case "":
	case tool.IsDirectory:
		return nil, isDirectory(in.Path, "Use list_files to see what is in it.")
	case tool.TooLarge:
		return nil, tool.Errorf(tool.TooLarge, "%w", err).
			Suggest("Read a part of it with head, tail or rg.").With("path", in.Path)
	default:
		return nil, err
	}
	content, err := readable(data)
	if err != nil {
		return nil, tool.Errorf(tool.BinaryFile, "%s is a binary file", in.Path).
			Suggest("It cannot be shown as text; wc with -c tells its size.").With("path", in.Path)
	}
	return tool.Text(content), nil
}

// readable gives the text of a file as UTF-8, which results are in: what is
// neither UTF-16 nor UTF-8 is taken as Latin-1, as edit_file does.
func readable(data []byte) (string, error) {
	text, err := textedit.Decode(data)
	if err != nil {
		return "", err
	}
	switch text.Encoding() {
	case textedit.UTF8:
		return string(data), nil
	case textedit.Bytes:
		return contract.Shown(data), nil
	}
	return text.String(), nil
}

func isDirectory(path, next string) *tool.Error {
	return tool.Errorf(tool.IsDirectory, "Is a directory: '%s'", path).Suggest("%s", next).With("path", path)
}
