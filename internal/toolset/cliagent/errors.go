package cliagent

import (
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

// The contract's codes. Other failures, such as internal or cancelled, keep the host's.
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

// inContract returns an error with the contract's code and style of message.
func inContract(err error) *tool.Error {
	e := kit.Worded(err)
	e.Code = contractCode(e.Code)
	return e
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

// texts are a tool's messages for a path that it cannot use.
type texts struct {
	// missing is for a path that does not exist, denied for one that may not be used.
	missing, denied string
	find            string
}

const findFile = "Check the file name and try again, or use file_search to find it."

func pathError(err error, path string, say texts) error {
	e := tool.AsError(err)
	switch e.Code {
	case tool.PathOutsideWorkspace:
		return tool.Errorf(codeOutside, "Path '%s' is outside working directory", path).
			Suggest("Use a path inside the working directory.").With("path", path)
	case tool.NotFound:
		return tool.Errorf(codeFileNotFound, "%s", say.missing).Suggest("%s", say.find).With("path", path)
	case tool.IsDirectory:
		return isDirectory(path)
	case tool.NotADirectory:
		if part, ok := e.Details["path"].(string); ok && part != path {
			return tool.Errorf(codeNotADirectory, "Path '%s' is not a directory", part).
				Suggest("%s", e.Suggestion).With("path", part)
		}
		return notDirectory(path)
	case tool.PermissionDenied, tool.Blocked:
		return tool.Errorf(codePermissionDenied, "%s", say.denied).
			Suggest("%s: %s", kit.Worded(e).Message, e.Suggestion).With("path", path)
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
