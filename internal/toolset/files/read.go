package files

import (
	"context"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/textedit"
	"github.com/toolhost/toolhost/internal/file/textedit/lines"
)

const readLimit = 10 << 20 // bytes

type pathInput struct {
	Path string `json:"path"`
}

func runRead(_ context.Context, d deps, _ *tool.Call, in pathInput) (*tool.Result, error) {
	data, _, err := d.workspace.ReadFile(in.Path, readLimit)
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

// readable returns a file's text as UTF-8: what is neither UTF-16 nor UTF-8 is read as Latin-1,
// as edit_file does.
func readable(data []byte) (string, error) {
	text, err := textedit.Decode(data)
	if err != nil {
		return "", err
	}
	switch text.Encoding() {
	case textedit.UTF8:
		return string(data), nil
	case textedit.Bytes:
		return lines.Shown(data), nil
	}
	return text.String(), nil
}

func isDirectory(path, next string) *tool.Error {
	return tool.Errorf(tool.IsDirectory, "Is a directory: '%s'", path).Suggest("%s", next).With("path", path)
}
