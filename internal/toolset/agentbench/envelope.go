package agentbench

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/toolset/kit"
)

const (
	typePathEscape    = "path_escape"
	typeSymlink       = "symlink_blocked"
	typeTimeout       = "timeout"
	typeFileNotFound  = "file_not_found"
	typeBinary        = "binary_file"
	typeRipgrep       = "ripgrep_error"
	typePatchParse    = "patch_parse_error"
	typePatchHunk     = "patch_hunk_fail"
	typeSandbox       = "sandbox_error"
	typeAbnormalExit  = "abnormal_exit"
	typeUnknownTool   = "unknown_tool"
	exitCodeOnTimeout = 124
)

// timeFormat is RFC 3339 with microseconds.
const timeFormat = "2006-01-02T15:04:05.000000Z07:00"

// envelope is the contract's ToolResult.
type envelope struct {
	RequestID   string         `json:"request_id"`
	Tool        string         `json:"tool"`
	Status      string         `json:"status"`
	StartedAt   string         `json:"started_at"`
	EndedAt     string         `json:"ended_at"`
	DurationSec float64        `json:"duration_sec"`
	Data        any            `json:"data"`
	Error       *envelopeError `json:"error"`
	ExitCode    *int           `json:"exit_code"`
	StdoutPath  *string        `json:"stdout_path"`
	StderrPath  *string        `json:"stderr_path"`
}

// envelopeError is the contract's ToolError.
type envelopeError struct {
	Type    string         `json:"error_type"`
	Message string         `json:"message"`
	Details map[string]any `json:"details"`
}

// failure is an error with the contract's name for it.
type failure struct {
	kind string
	err  *tool.Error
}

// Error returns the message.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the *tool.Error.
func (f *failure) Unwrap() error { return f.err }

func as(kind string, err error) *failure { return &failure{kind: kind, err: tool.AsError(err)} }

// explain returns the failure for any error of a tool.
func explain(c kit.Call, err error) *failure {
	var named *failure
	switch {
	case errors.As(err, &named):
		return named
	case errors.Is(err, context.DeadlineExceeded), tool.CodeOf(err) == tool.Timeout:
		return as(typeTimeout, tool.Errorf(tool.Timeout, "%s did not finish within %s", c.Definition.Name,
			limit(c.Definition)).
			Suggest("Ask for less in one call, such as a directory further down.").
			With("timeout_sec", limit(c.Definition).Seconds()))
	case errors.Is(err, context.Canceled):
		return as(string(tool.Cancelled),
			tool.Errorf(tool.Cancelled, "the call of %s was cancelled", c.Definition.Name).
				Suggest("Call again if the result is still wanted."))
	}
	own := tool.AsError(err)
	return as(errorType(own), own)
}

// errorType returns the contract's name for an error, else its code.
func errorType(err *tool.Error) string {
	switch err.Code {
	case tool.PathOutsideWorkspace:
		return typePathEscape
	case tool.NotFound:
		return typeFileNotFound
	case tool.Blocked:
		if err.Details["reason"] == "symlink" {
			return typeSymlink
		}
	}
	return string(err.Code)
}

// unnamed returns the error without the contract's name.
func unnamed(err error) error {
	if named, ok := errors.AsType[*failure](err); ok {
		return named.err
	}
	return err
}

func renderError(c kit.Call, err *tool.Error) *tool.Result {
	kind := errorType(err)
	if err.Code == tool.NotFound {
		kind = typeUnknownTool
	}
	out := &outcome{failed: as(kind, err)}
	if err.Code == tool.Timeout && c.Tool == runName {
		code := exitCodeOnTimeout
		out.exitCode = &code
	}
	return sealAt(c, out, c.Started)
}

func fail(c kit.Call, _ *outcome, err error) *tool.Result {
	return seal(c, &outcome{failed: explain(c, err)})
}

func seal(c kit.Call, out *outcome) *tool.Result { return sealAt(c, out, time.Now()) }

func sealAt(c kit.Call, out *outcome, ended time.Time) *tool.Result {
	took := max(0, ended.Sub(c.Started)) // monotonic, unlike the other two
	e := envelope{
		RequestID: c.RequestID, Tool: c.Name(), Status: "success",
		StartedAt: c.Started.UTC().Format(timeFormat), EndedAt: c.Started.Add(took).UTC().Format(timeFormat),
		DurationSec: took.Seconds(),
		Data:        out.data, ExitCode: out.exitCode, StdoutPath: out.stdout, StderrPath: out.stderr,
	}
	if out.failed != nil {
		e.Status, e.Error = "error", describe(out.failed)
	}
	result := out.On(tool.JSON(e))
	result.FilesAffected = out.Files
	if out.failed != nil {
		result.Failed = out.failed.err
	}
	return result
}

// describe returns an error in the contract's form, with the next step in the details.
func describe(f *failure) *envelopeError {
	details := maps.Clone(f.err.Details)
	if details == nil {
		details = make(map[string]any)
	}
	details["suggestion"] = f.err.Suggestion
	if f.err.Suggestion == "" {
		details["suggestion"] = "Read the message, correct the call and try again."
	}
	return &envelopeError{Type: f.kind, Message: f.err.Message, Details: details}
}
