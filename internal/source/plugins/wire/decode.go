package wire

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
	"github.com/toolhost/toolhost/internal/text/exact"
)

// DecodeDefinition returns the definition in t.
func DecodeDefinition(t *toolpb.Tool) *tool.Definition {
	return &tool.Definition{
		Name:        t.GetName(),
		Title:       t.GetTitle(),
		Description: t.GetDescription(),
		Category:    t.GetCategory(),
		Parameters:  raw(t.GetParameters()),
		Returns:     raw(t.GetReturns()),
		Risk:        tool.Risk(t.GetRisk()),
		Permissions: decodePermissions(t.GetPermissions()),
		Timeout:     time.Duration(t.GetTimeoutMs()) * time.Millisecond,
		Idempotent:  t.GetIdempotent(),
		Examples:    decodeExamples(t.GetExamples()),
	}
}

func decodePermissions(list []string) []tool.Permission {
	var out []tool.Permission
	for _, p := range list {
		out = append(out, tool.Permission(p))
	}
	return out
}

func decodeExamples(list []*toolpb.Example) []tool.Example {
	var out []tool.Example
	for _, e := range list {
		out = append(out, tool.Example{Description: e.GetDescription(), Params: raw(e.GetParams())})
	}
	return out
}

// DecodeCall returns the call, without host services.
func DecodeCall(c *toolpb.Call) *tool.Call {
	params := raw(c.GetParams())
	if params == nil {
		params = json.RawMessage("{}")
	}
	return &tool.Call{
		Tool:        c.GetTool(),
		Session:     c.GetSession(),
		RequestID:   c.GetRequestId(),
		Step:        int(c.GetStep()),
		Params:      params,
		Workspace:   c.GetWorkspace(),
		ArtifactDir: c.GetArtifactDir(),
	}
}

// DecodeResult returns the result, or nil for nil.
func DecodeResult(p *toolpb.Result) *tool.Result {
	if p == nil {
		return nil
	}
	r := &tool.Result{
		Structured:    raw(p.GetStructured()),
		FilesAffected: p.GetFilesAffected(),
		Truncated:     p.GetTruncated(),
		Metadata:      decodeObject(p.GetMetadata()),
		Failed:        DecodeError(p.GetFailed()),
	}
	for _, c := range p.GetContents() {
		r.Contents = append(r.Contents, tool.Content{
			Kind:     tool.ContentKind(c.GetKind()),
			Text:     string(c.GetText()),
			Data:     c.GetData(),
			MIMEType: c.GetMimeType(),
			URI:      c.GetUri(),
			Name:     c.GetName(),
		})
	}
	for _, a := range p.GetArtifacts() {
		r.Artifacts = append(r.Artifacts, tool.Artifact{Name: a.GetName(), Path: a.GetPath(), Bytes: a.GetBytes()})
	}
	return r
}

// DecodeError returns the error, or nil for nil. Timeout and cancelled errors match the context's errors too.
func DecodeError(p *toolpb.Error) *tool.Error {
	if p == nil {
		return nil
	}
	code := tool.Code(p.GetCode())
	if code == "" {
		code = tool.Internal
	}
	e := newError(code, string(p.GetMessage()))
	e.Suggestion = string(p.GetSuggestion())
	e.Details = decodeObject(p.GetDetails())
	return e
}

func newError(code tool.Code, message string) *tool.Error {
	e := tool.Errorf(code, "%s", message)
	switch code {
	case tool.Timeout:
		e = tool.Errorf(code, "%w", context.DeadlineExceeded)
	case tool.Cancelled:
		e = tool.Errorf(code, "%w", context.Canceled)
	}
	e.Message = message
	return e
}

// DecodePlan returns the plan or the error of p.
func DecodePlan(p *toolpb.PlanResponse) (*tool.Plan, error) {
	if e := DecodeError(p.GetError()); e != nil {
		return nil, e
	}
	return &tool.Plan{FilesAffected: p.GetFilesAffected(), Preview: string(p.GetPreview())}, nil
}

// DecodeCommandLine returns the arguments or the error of p.
func DecodeCommandLine(p *toolpb.CommandLineResponse) ([]string, error) {
	if e := DecodeError(p.GetError()); e != nil {
		return nil, e
	}
	var argv []string
	for _, arg := range p.GetArgv() {
		argv = append(argv, string(arg))
	}
	return argv, nil
}

// DecodeInputRequired returns the question as the error that a tool returns.
func DecodeInputRequired(p *toolpb.InputRequired) *tool.InputRequired {
	return &tool.InputRequired{Key: p.GetKey(), Form: DecodeForm(p.GetForm())}
}

// DecodeForm returns the question.
func DecodeForm(p *toolpb.Form) tool.Form {
	return tool.Form{Message: string(p.GetMessage()), Schema: raw(p.GetSchema())}
}

// DecodeProgress returns the progress.
func DecodeProgress(p *toolpb.Progress) tool.Progress {
	return tool.Progress{Done: p.GetDone(), Total: p.GetTotal(), Message: string(p.GetMessage())}
}

// DecodeLog returns the parts of a log line.
func DecodeLog(p *toolpb.Log) (slog.Level, string, []slog.Attr) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(p.GetLevel())); err != nil {
		level = slog.LevelInfo
	}
	var attrs []slog.Attr
	fields := decodeObject(p.GetAttributes())
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		attrs = append(attrs, slog.Any(k, fields[k]))
	}
	return level, string(p.GetMessage()), attrs
}

// decodeObject parses a JSON object, or returns nil.
func decodeObject(data []byte) map[string]any {
	if len(data) == 0 {
		return nil
	}
	m, _ := exact.Object(data)
	return m
}

func raw(data []byte) json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	return json.RawMessage(data)
}
