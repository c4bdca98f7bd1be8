package tool

import (
	"context"
	"errors"
	"fmt"
)

// Code classes an error, for programs.
type Code string

// The canonical codes among host and tools. A fixed contract has its own in its results.
const (
	InvalidArgument      Code = "invalid_argument"
	NotFound             Code = "not_found"
	AlreadyExists        Code = "already_exists"
	PathOutsideWorkspace Code = "path_outside_workspace"
	PermissionDenied     Code = "permission_denied"
	Denied               Code = "denied"
	NeedsConfirmation    Code = "needs_confirmation"
	NotUnique            Code = "not_unique"
	NoMatch              Code = "no_match"
	NoChange             Code = "no_change"
	Conflict             Code = "conflict"
	BinaryFile           Code = "binary_file"
	TooLarge             Code = "too_large"
	Timeout              Code = "timeout"
	Cancelled            Code = "cancelled"
	CommandNotFound      Code = "command_not_found"
	CommandFailed        Code = "command_failed"
	Blocked              Code = "blocked"
	Unavailable          Code = "unavailable"
	Unsupported          Code = "unsupported"
	Internal             Code = "internal"
	// IsDirectory and NotADirectory narrow invalid_argument for paths.
	IsDirectory   Code = "is_directory"
	NotADirectory Code = "not_a_directory"
)

// Error is a failure that the caller can act on.
type Error struct {
	Code Code `json:"code"`
	// Message is what happened, and where.
	Message string `json:"message"`
	// Suggestion is what to do next.
	Suggestion string `json:"suggestion,omitempty"`
	// Details has facts for programs: paths, lines, exit codes.
	Details map[string]any `json:"details,omitempty"`

	cause error
}

// Errorf returns an Error. A %w in format becomes its cause for errors.Is.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), cause: errors.Unwrap(err)}
}

// Suggest sets the next step and returns e.
func (e *Error) Suggest(format string, args ...any) *Error {
	if len(args) == 0 {
		e.Suggestion = format
	} else {
		e.Suggestion = fmt.Sprintf(format, args...)
	}
	return e
}

// With adds a detail and returns e.
func (e *Error) With(key string, value any) *Error {
	if e.Details == nil {
		e.Details = make(map[string]any)
	}
	e.Details[key] = value
	return e
}

// Error returns the message; a face adds code and suggestion.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.cause }

// Is compares codes, so that errors.Is(err, &Error{Code: NotFound}) finds all errors of that code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Code == e.Code
}

// AsError returns err as an *Error: the one that it is or wraps, timeout or cancelled for the end of a context,
// else internal; nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Timeout, Message: "the call did not finish in time",
			Suggestion: "Ask for less in one call.", cause: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: Cancelled, Message: "the call was cancelled",
			Suggestion: "Call again if the result is still wanted.", cause: err}
	}
	return &Error{
		Code:       Internal,
		Message:    err.Error(),
		Suggestion: "Run the call again; if it fails again, look into the log.",
		cause:      err,
	}
}

// CodeOf returns the code of AsError(err), "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}
