package clemini

import (
	"errors"
	"maps"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	codeAccessDenied      = "ACCESS_DENIED"
	codeNotFound          = "NOT_FOUND"
	codeIO                = "IO_ERROR"
	codeInvalidArgument   = "INVALID_ARGUMENT"
	codeNotUnique         = "NOT_UNIQUE"
	codeBinaryFile        = "BINARY_FILE"
	codeBlocked           = "BLOCKED"
	codeTimeout           = "TIMEOUT"
	codeNeedsConfirmation = "NEEDS_CONFIRMATION"
)

// failure is an error with further fields of the contract's object.
type failure struct {
	err   *tool.Error
	code  string
	extra map[string]any
}

// Error returns the message.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the *tool.Error.
func (f *failure) Unwrap() error { return f.err }

func coded(code string, err *tool.Error) *failure { return &failure{err: err, code: code} }

func (f *failure) with(name string, value any) *failure {
	if f.extra == nil {
		f.extra = make(map[string]any)
	}
	f.extra[name] = value
	return f
}

// isQuestion reports whether err is a question for the user, which is not a failure.
func isQuestion(err error) bool { return errors.Is(err, tool.ErrInputRequired) }

func failed(name string, err error) *tool.Result {
	var f *failure
	if !errors.As(err, &f) {
		own := tool.AsError(err)
		f = coded(codeOf(name, own), own)
	}
	about := maps.Clone(f.err.Details)
	if about == nil {
		about = make(map[string]any)
	}
	about["hint"] = f.err.Suggestion
	if f.err.Suggestion == "" {
		about["hint"] = "Read the message, correct the call and try again."
	}
	object := map[string]any{}
	maps.Copy(object, f.extra)
	object["error"], object["error_code"], object["context"] = kit.Capital(f.err), f.code, about
	r := tool.JSON(object)
	r.Failed = f.err
	return r
}

func codeOf(name string, err *tool.Error) string {
	switch err.Code {
	case tool.PathOutsideWorkspace, tool.PermissionDenied, tool.Blocked:
		return codeAccessDenied
	case tool.Denied:
		if name == "bash" || name == "task" {
			return codeBlocked
		}
		return codeAccessDenied
	case tool.NotFound, tool.NoMatch:
		return codeNotFound
	case tool.NotUnique:
		return codeNotUnique
	case tool.BinaryFile:
		return codeBinaryFile
	case tool.NeedsConfirmation:
		return codeNeedsConfirmation
	case tool.Timeout:
		return codeTimeout
	case tool.InvalidArgument, tool.NoChange, tool.IsDirectory, tool.NotADirectory, tool.TooLarge, tool.Unsupported,
		tool.AlreadyExists:
		return codeInvalidArgument
	}
	return codeIO
}

func pathError(err error, path, find string) error {
	e := tool.AsError(err)
	switch e.Code {
	case tool.PathOutsideWorkspace:
		return tool.Errorf(e.Code, "Access denied: %s is outside allowed paths", path).
			Suggest("Name a path inside the workspace.").With("path", path)
	case tool.NotFound:
		return tool.Errorf(e.Code, "File not found: %s", path).Suggest("%s", find).With("path", path)
	case tool.PermissionDenied, tool.Blocked:
		return tool.Errorf(e.Code, "Access denied: %s", e.Message).Suggest("%s", e.Suggestion).With("path", path)
	case tool.NotADirectory:
		return tool.Errorf(tool.NotFound, "File not found: %s", path).
			Suggest("%s is a file, and has nothing below it. %s", notADirectory(e, path), find).With("path", path)
	case tool.IsDirectory:
		return tool.Errorf(e.Code, "Is a directory: %s", path).
			Suggest("Name a file; glob finds those in the directory.").With("path", path)
	}
	return err
}

// notADirectory returns the part of a path that should be a directory.
func notADirectory(e *tool.Error, path string) string {
	if part, ok := e.Details["path"].(string); ok {
		return part
	}
	return path
}

const findFile = "Check that the file exists, or use glob to search for it."
