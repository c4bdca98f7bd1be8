package ocode

import (
	"github.com/toolhost/toolhost/host/tool"
)

// pathError puts an error of the workspace about path into the contract's
// words.
func pathError(err error, path string) error {
	e := tool.AsError(err)
	var own *tool.Error
	switch e.Code {
	case tool.NotFound:
		own = tool.Errorf(e.Code, "File not found: %s", path)
	case tool.PathOutsideWorkspace:
		own = tool.Errorf(e.Code, "Path not allowed: %s is outside the workspace", path)
	case tool.PermissionDenied, tool.Blocked:
		own = tool.Errorf(e.Code, "Path not allowed: %s", e.Message)
	case tool.IsDirectory:
		own = tool.Errorf(e.Code, "Is a directory: %s", path)
	case tool.NotADirectory:
		return tool.Errorf(e.Code, "Not a directory: %s", path).With("path", path).
			Suggest("It is a file, or leads through one: name a directory, or correct the path.")
	case tool.AlreadyExists:
		own = tool.Errorf(e.Code, "File already exists: %s", path)
	case tool.BinaryFile:
		own = tool.Errorf(e.Code, "Not a text file: %s", path)
	default:
		return e
	}
	return own.Suggest("%s", e.Suggestion).With("path", path)
}

// invalid is an error about a parameter.
func invalid(suggestion, format string, args ...any) *tool.Error {
	return tool.Errorf(tool.InvalidArgument, format, args...).Suggest("%s", suggestion)
}
