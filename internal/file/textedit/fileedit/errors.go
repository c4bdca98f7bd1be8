package fileedit

import (
	"fmt"

	"github.com/toolhost/toolhost/host/tool"
)

// The codes of the edit tools' contract for files.
const (
	InvalidPath    = "EDIT_INVALID_PATH"
	FileNotFound   = "EDIT_FILE_NOT_FOUND"
	CreateExisting = "ATTEMPT_TO_CREATE_EXISTING_FILE"
	FileReadError  = "EDIT_FILE_READ_ERROR"
	FileWriteError = "EDIT_FILE_WRITE_ERROR"
)

const contractKey = "contract_code"

// Coded returns an error in the contract's form, "CODE: what happened (path)", with the contract's code also among
// the details.
func Coded(contract string, code tool.Code, path, format string, args ...any) *tool.Error {
	return Named(contract, code, path, "%s (%s)", fmt.Sprintf(format, args...), path)
}

// Named is Coded for a text that names the path itself.
func Named(contract string, code tool.Code, path, format string, args ...any) *tool.Error {
	return tool.Errorf(code, "%s: %s", contract, fmt.Sprintf(format, args...)).
		With(contractKey, contract).With("path", path)
}

// InContract converts an error of Apply or Preview to the contract's form, unless it has that already.
func InContract(err error, path string) error {
	e := tool.AsError(err)
	if e == nil || e.Details[contractKey] != nil || e.Code == tool.Cancelled || e.Code == tool.Timeout {
		return err
	}
	contract, what := classify(e)
	coded := Coded(contract, e.Code, path, "%s", what)
	coded.Suggestion = e.Suggestion
	if contract == CreateExisting {
		coded.Suggest("To change a file, give the text to replace; to replace all of it, use write_file.")
	} else if contract == FileNotFound {
		coded.Suggest("Check the path, or create the file with an empty old string.")
	}
	return coded
}

func classify(e *tool.Error) (contract, what string) {
	switch e.Code {
	case tool.NotFound:
		return FileNotFound, "the file does not exist"
	case tool.AlreadyExists:
		return CreateExisting, "the path exists already, an empty old string only creates"
	case tool.PathOutsideWorkspace:
		return InvalidPath, "the path is outside the workspace"
	case tool.InvalidArgument:
		return InvalidPath, e.Message
	case tool.IsDirectory:
		return FileReadError, "it is a directory"
	case tool.BinaryFile, tool.TooLarge, tool.Unsupported, tool.NotADirectory:
		return FileReadError, e.Message
	default:
		return FileWriteError, e.Message
	}
}
