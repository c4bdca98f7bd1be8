package cliagent

import (
	"context"
	"errors"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// The contract's codes. Failures that it has no word for, such as internal or
// cancelled, keep the host's.
const (
	codeOutside           tool.Code = "path_outside_working_dir"
	codeFileNotFound      tool.Code = "file_not_found"
	codeFileExists        tool.Code = "file_exists"
	codeNotADirectory     tool.Code = "not_a_directory"
	codeIsADirectory      tool.Code = "is_a_directory"
	codePermissionDenied  tool.Code = "permission_denied"
	codeInvalidParameter  tool.Code = "invalid_parameter"
	codeStringNotFound    tool.Code = "string_not_found"
	codeInvalidLineRange  tool.Code = "invalid_line_range"
	codeInvalidPattern    tool.Code = "invalid_pattern"
	codeInvalidRegex      tool.Code = "invalid_regex"
	codeCommandNotFound   tool.Code = "command_not_found"
	codeCommandFailed     tool.Code = "command_failed"
	codeTimeout           tool.Code = "timeout"
	codeNoPreviousCommand tool.Code = "no_previous_command"
	codeInvalidURL        tool.Code = "invalid_url"
	codeNetworkError      tool.Code = "network_error"
	codeRejected          tool.Code = "rejected"
)

// inContract gives any error the contract's code and a message that reads as
// its own do. Errors that are in the contract already stay as they are.
func inContract(err error) *tool.Error {
	e := *asError(err)
	e.Code = contractCode(e.Code)
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

func contractCode(code tool.Code) tool.Code {
	switch code {
	case tool.InvalidArgument, tool.TooLarge, tool.BinaryFile, tool.Unsupported, tool.NoChange:
		return codeInvalidParameter
	case tool.PathOutsideWorkspace:
		return codeOutside
	case tool.AlreadyExists:
		return codeFileExists
	case tool.IsDirectory:
		return codeIsADirectory
	case tool.NoMatch:
		return codeStringNotFound
	case tool.Denied, tool.NeedsConfirmation, tool.Blocked:
		return codeRejected
	}
	return code
}

// capital makes the first letter a capital where the first word is plain
// lower case, and so no name of a file or program with a dot or slash in it.
func capital(s string) string {
	word, _, _ := strings.Cut(s, " ")
	if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") != "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// texts are what a tool says of a path that it cannot use.
type texts struct {
	// missing is said where there is nothing, denied where it may not be used.
	missing, denied string
	// find says what to do about what is missing.
	find string
}

const findFile = "Check the file name and try again, or use file_search to find it."

// pathError puts an error of the workspace about path into the contract's
// words.
func pathError(err error, path string, say texts) error {
	e := asError(err)
	switch e.Code {
	case tool.PathOutsideWorkspace:
		return tool.Errorf(codeOutside, "Path '%s' is outside working directory", path).
			Suggest("Use a path inside the working directory.").With("path", path)
	case tool.NotFound:
		return tool.Errorf(codeFileNotFound, "%s", say.missing).Suggest("%s", say.find).With("path", path)
	case tool.IsDirectory:
		return isDirectory(path)
	case tool.NotADirectory:
		if part, ok := e.Details["path"].(string); ok {
			path = part
		}
		return notDirectory(path)
	case tool.PermissionDenied, tool.Blocked:
		return tool.Errorf(codePermissionDenied, "%s", say.denied).
			Suggest("%s: %s", capital(e.Message), e.Suggestion).With("path", path)
	}
	return e
}

func isDirectory(path string) *tool.Error {
	return tool.Errorf(codeIsADirectory, "Path '%s' is a directory", path).
		Suggest("Name a file; list_dir shows what is in the directory.").With("path", path)
}

func notDirectory(path string) *tool.Error {
	return tool.Errorf(codeNotADirectory, "Path '%s' is not a directory", path).
		Suggest("Name a directory; use read_file to read a file.").With("path", path)
}
