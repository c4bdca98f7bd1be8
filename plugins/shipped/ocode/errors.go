package ocode

import (
	"context"
	"errors"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// inContract gives any error a message that reads as the contract's own do.
func inContract(err error) *tool.Error {
	e := *asError(err)
	e.Message = strings.ToValidUTF8(capital(e.Message), "\uFFFD")
	if e.Suggestion == "" {
		e.Suggestion = "Look at the parameters and try again."
	}
	return &e
}

func asError(err error) *tool.Error {
	var own *tool.Error
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(tool.Timeout, "The call did not finish in time").Suggest("Ask for less in one call.")
	case errors.Is(err, context.Canceled):
		return tool.Errorf(tool.Cancelled, "The call was cancelled").Suggest("Call again if the result is still wanted.")
	}
	return tool.AsError(err)
}

// capital makes the first letter a capital where the first word is plain
// lower case, and so no name of a file or program.
func capital(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// pathError puts an error of the workspace about path into the contract's
// words.
func pathError(err error, path string) error {
	e := asError(err)
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
		own = tool.Errorf(e.Code, "Not a directory: %s", path)
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
