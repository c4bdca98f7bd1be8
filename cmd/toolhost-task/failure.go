package main

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	taskerrors "github.com/go-task/task/v3/errors"

	"github.com/toolhost/toolhost/internal/source/taskprotocol"
)

var errNoPrompt = errors.New("there is no one to ask")

func classify(err error) protocol.Report {
	report := protocol.Report{Kind: kindOf(err), ExitCode: exitCode(err), Message: plain(err)}
	if report.Kind == protocol.Broken {
		report.Problem = problem(err)
	}
	return report
}

func kindOf(err error) protocol.Kind {
	switch {
	case is[*noTaskfileError](err):
		return protocol.NoTaskfile
	case is[*taskerrors.TaskRunError](err):
		return runKind(err)
	case is[*taskerrors.TaskCancelledNoTerminalError](err), is[*taskerrors.TaskCancelledByUserError](err):
		return protocol.Prompt
	case is[*taskerrors.TaskMissingRequiredVarsError](err), is[*taskerrors.TaskNotAllowedVarsError](err):
		return protocol.Missing
	case errors.Is(err, context.Canceled):
		return protocol.Cancelled
	case is[*taskerrors.TaskCalledTooManyTimesError](err):
		return protocol.Failed
	}
	return protocol.Broken
}

// runKind returns what stopped a command.
func runKind(err error) protocol.Kind {
	switch {
	case is[*taskerrors.TaskCancelledNoTerminalError](err), is[*taskerrors.TaskCancelledByUserError](err):
		return protocol.Prompt
	case is[*taskerrors.TaskMissingRequiredVarsError](err), is[*taskerrors.TaskNotAllowedVarsError](err):
		return protocol.Missing
	case errors.Is(err, context.Canceled):
		return protocol.Cancelled
	}
	return protocol.Failed
}

// isTaskfileError reports errors in Taskfiles, which go-task numbers in the hundreds.
func isTaskfileError(err error) bool {
	var coded taskerrors.TaskError
	return errors.As(err, &coded) && coded.Code() >= taskerrors.CodeTaskfileNotFound &&
		coded.Code() < taskerrors.CodeTaskNotFound
}

func is[E error](err error) bool {
	var target E
	return errors.As(err, &target)
}

// exitCode returns the failed command's exit code, else go-task's own.
func exitCode(err error) int {
	var run *taskerrors.TaskRunError
	if errors.As(err, &run) {
		return run.TaskExitCode()
	}
	if is[*noTaskfileError](err) {
		return taskerrors.CodeTaskfileNotFound
	}
	var coded taskerrors.TaskError
	if errors.As(err, &coded) {
		return coded.Code()
	}
	return taskerrors.CodeUnknown
}

func problem(err error) *protocol.Problem {
	var decode *taskerrors.TaskfileDecodeError
	if errors.As(err, &decode) {
		return &protocol.Problem{Message: decodeMessage(decode), File: decode.Location, Line: decode.Line,
			Column: decode.Column}
	}
	p := &protocol.Problem{Message: plain(err)}
	var version *taskerrors.TaskfileVersionCheckError
	if errors.As(err, &version) {
		p.File, p.Line = version.URI, versionLine(version.URI)
		return p
	}
	var invalid taskerrors.TaskfileInvalidError
	var invalidPointer *taskerrors.TaskfileInvalidError
	switch {
	case errors.As(err, &invalid):
		p.File, p.Message = invalid.URI, plain(invalid.Err)
	case errors.As(err, &invalidPointer):
		p.File, p.Message = invalidPointer.URI, plain(invalidPointer.Err)
	}
	if abs, err := filepath.Abs(p.File); err == nil && p.File != "" {
		p.File = abs
	}
	p.Line = lineIn(p.Message)
	return p
}

// decodeMessage returns a decoding error's sentence without its snippet.
func decodeMessage(err *taskerrors.TaskfileDecodeError) string {
	if err.Message != "" {
		return stripColours(err.Message)
	}
	if err.Err != nil {
		return plain(err.Err)
	}
	return "the value has the wrong type"
}

// lineIn returns the line that the YAML library names only in its text, or 0.
func lineIn(message string) int {
	_, rest, found := strings.Cut(message, "line ")
	digits, _, _ := strings.Cut(rest, ":")
	if line, err := strconv.Atoi(digits); found && err == nil {
		return line
	}
	return 0
}

// maxMessage keeps a report small enough to send without a reader, in bytes.
const maxMessage = 8 << 10

// plain returns an error's text in toolhost's form: no colours, no "task: ".
func plain(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) && err == error(path) {
		return path.Path + ": " + path.Err.Error()
	}
	text := stripColours(err.Error())
	if len(text) > maxMessage {
		text = text[:maxMessage] + "..."
	}
	return strings.TrimSpace(strings.TrimPrefix(text, "task: "))
}

func stripColours(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	return regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]").ReplaceAllString(s, "")
}
