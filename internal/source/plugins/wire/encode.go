package wire

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/source/plugins/toolpb"
)

// EncodeTool encodes t's definition and optional interfaces.
func EncodeTool(t tool.Tool) *toolpb.Tool {
	d := t.Definition()
	_, plans := t.(tool.Planner)
	_, renders := t.(tool.ErrorRenderer)
	_, normalizes := t.(tool.Normalizer)
	_, commands := t.(tool.Commander)
	return &toolpb.Tool{
		Name:          d.Name,
		Title:         d.Title,
		Description:   d.Description,
		Category:      d.Category,
		Parameters:    d.Parameters,
		Returns:       d.Returns,
		Risk:          string(d.Risk),
		Permissions:   encodePermissions(d.Permissions),
		TimeoutMs:     millis(d.Timeout),
		Idempotent:    d.Idempotent,
		Examples:      encodeExamples(d.Examples),
		Plans:         plans,
		RendersErrors: renders,
		Normalizes:    normalizes,
		Commands:      commands,
	}
}

func encodePermissions(list []tool.Permission) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = string(p)
	}
	return out
}

func encodeExamples(list []tool.Example) []*toolpb.Example {
	out := make([]*toolpb.Example, len(list))
	for i, e := range list {
		out[i] = &toolpb.Example{Description: e.Description, Params: e.Params}
	}
	return out
}

// millis rounds up, so that a short time does not become zero.
func millis(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// EncodeCall encodes c with ctx's remaining time.
func EncodeCall(ctx context.Context, c *tool.Call) *toolpb.Call {
	p := &toolpb.Call{
		Tool:        c.Tool,
		Session:     c.Session,
		RequestId:   c.RequestID,
		Step:        int64(c.Step),
		Params:      c.Params,
		Workspace:   c.Workspace,
		ArtifactDir: c.ArtifactDir,
	}
	if deadline, ok := ctx.Deadline(); ok {
		p.TimeoutMs = max(1, millis(time.Until(deadline)))
	}
	return p
}

// EncodeResult encodes r, nil as nil.
func EncodeResult(r *tool.Result) *toolpb.Result {
	if r == nil {
		return nil
	}
	p := &toolpb.Result{
		Structured:    r.Structured,
		FilesAffected: valid(r.FilesAffected),
		Truncated:     r.Truncated,
		Metadata:      encodeObject(r.Metadata),
	}
	if r.Failed != nil {
		p.Failed = EncodeError(r.Failed)
	}
	for _, c := range r.Contents {
		p.Contents = append(p.Contents, encodeContent(c))
	}
	for _, a := range r.Artifacts {
		p.Artifacts = append(p.Artifacts, &toolpb.Artifact{Name: utf8(a.Name), Path: utf8(a.Path), Bytes: a.Bytes})
	}
	return p
}

func encodeContent(c tool.Content) *toolpb.Content {
	return &toolpb.Content{
		Kind:     string(c.Kind),
		Text:     []byte(c.Text),
		Data:     c.Data,
		MimeType: utf8(c.MIMEType),
		Uri:      utf8(c.URI),
		Name:     utf8(c.Name),
	}
}

// EncodeError encodes err, nil as nil. For other errors than *tool.Error see tool.AsError.
func EncodeError(err error) *toolpb.Error {
	if err == nil {
		return nil
	}
	e := tool.AsError(err)
	return &toolpb.Error{
		Code:       string(e.Code),
		Message:    []byte(e.Message),
		Suggestion: []byte(e.Suggestion),
		Details:    encodeObject(e.Details),
	}
}

// EncodePlan encodes the answer to a plan request.
func EncodePlan(p *tool.Plan, err error) *toolpb.PlanResponse {
	if err != nil {
		return &toolpb.PlanResponse{Error: EncodeError(err)}
	}
	if p == nil {
		return &toolpb.PlanResponse{}
	}
	return &toolpb.PlanResponse{FilesAffected: valid(p.FilesAffected), Preview: []byte(p.Preview)}
}

// EncodeCommandLine encodes the answer to a command line request.
func EncodeCommandLine(argv []string, err error) *toolpb.CommandLineResponse {
	p := &toolpb.CommandLineResponse{Error: EncodeError(err)}
	for _, arg := range argv {
		p.Argv = append(p.Argv, []byte(arg))
	}
	return p
}

// EncodeInputRequired encodes the question in err, or returns nil.
func EncodeInputRequired(err error) *toolpb.InputRequired {
	var q *tool.InputRequired
	if !errors.As(err, &q) {
		return nil
	}
	return &toolpb.InputRequired{Key: q.Key, Form: EncodeForm(q.Form)}
}

// EncodeForm encodes f.
func EncodeForm(f tool.Form) *toolpb.Form {
	return &toolpb.Form{Message: []byte(f.Message), Schema: f.Schema}
}

// EncodeProgress encodes p.
func EncodeProgress(p tool.Progress) *toolpb.Progress {
	return &toolpb.Progress{Done: p.Done, Total: p.Total, Message: []byte(p.Message)}
}

// EncodeLog encodes a log line. Attributes that JSON cannot hold become text.
func EncodeLog(level slog.Level, message string, attrs []slog.Attr) *toolpb.Log {
	p := &toolpb.Log{Level: strings.ToLower(level.String()), Message: []byte(message)}
	if len(attrs) == 0 {
		return p
	}
	fields := make(map[string]any, len(attrs))
	for _, a := range attrs {
		fields[a.Key] = attrValue(a.Value)
	}
	p.Attributes = encodeObject(fields)
	return p
}

func attrValue(v slog.Value) any {
	v = v.Resolve()
	if v.Kind() != slog.KindAny {
		return v.Any()
	}
	if err, ok := v.Any().(error); ok {
		return err.Error()
	}
	if _, err := json.Marshal(v.Any()); err != nil {
		return v.String()
	}
	return v.Any()
}

// encodeObject encodes m as JSON, nil if empty. Values that JSON cannot hold are left out.
func encodeObject(m map[string]any) []byte {
	if len(m) == 0 {
		return nil
	}
	if data, err := json.Marshal(m); err == nil {
		return data
	}
	kept := make(map[string]any, len(m))
	for k, v := range m {
		if _, err := json.Marshal(v); err == nil {
			kept[k] = v
		}
	}
	return tool.MustMarshal(kept)
}

func valid(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = utf8(s)
	}
	return out
}

// utf8 makes s valid for a string field, which must be UTF-8.
func utf8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
