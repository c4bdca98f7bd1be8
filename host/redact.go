package host

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/redact"
	"github.com/toolhost/toolhost/internal/text/exact"
)

// secrets are the current values to remove.
type secrets struct {
	mu       sync.Mutex
	values   []string
	redactor atomic.Pointer[redactor]
}

// Redact adds to the values that no result, error or question may show.
func (h *Host) Redact(values []string) {
	s := &h.redact
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = append(s.values, values...)
	slices.Sort(s.values)
	s.values = slices.Compact(s.values)
	s.redactor.Store(newRedactor(s.values))
}

// redactor removes given values from what leaves the host. The rest, such as files' content, is unchanged.
type redactor struct{ *redact.Redactor }

func newRedactor(secrets []string) *redactor {
	if r := redact.New(secrets); r != nil {
		return &redactor{r}
	}
	return nil
}

// result removes secrets from a copy of r, which a tool may keep.
func (d *redactor) result(r *tool.Result) *tool.Result {
	if d == nil || r == nil {
		return r
	}
	clean := *r
	clean.Contents = slices.Clone(r.Contents)
	for i := range clean.Contents {
		c := &clean.Contents[i]
		c.Text, c.URI, c.Name = d.String(c.Text), d.String(c.URI), d.String(c.Name)
		if len(c.Data) > 0 {
			c.Data = []byte(d.String(string(c.Data)))
		}
		if len(c.MCP) > 0 {
			c.MCP = d.JSON(c.MCP)
		}
	}
	clean.FilesAffected = d.texts(r.FilesAffected)
	clean.Metadata = d.details(r.Metadata)
	if len(r.Structured) > 0 {
		clean.Structured = d.JSON(r.Structured)
	}
	clean.Failed = d.error(r.Failed)
	return &clean
}

func (d *redactor) error(e *tool.Error) *tool.Error {
	if d == nil || e == nil {
		return e
	}
	clean := tool.Errorf(e.Code, "%s", d.String(e.Message))
	clean.Suggestion = d.String(e.Suggestion)
	clean.Details = d.details(e.Details)
	return clean
}

// details returns the map itself if it has no secrets, since JSON loses its values' types.
func (d *redactor) details(details map[string]any) map[string]any {
	if d == nil || len(details) == 0 {
		return details
	}
	data, err := json.Marshal(details)
	if err != nil {
		return nil
	}
	clean := d.JSON(data)
	if bytes.Equal(clean, data) {
		return maps.Clone(details)
	}
	out, _ := exact.Object(clean)
	return out
}

func (d *redactor) object(raw json.RawMessage) json.RawMessage {
	if d == nil || len(raw) == 0 {
		return raw
	}
	return d.JSON(raw)
}

func (d *redactor) texts(texts []string) []string {
	if d == nil {
		return texts
	}
	clean := slices.Clone(texts)
	for i := range clean {
		clean[i] = d.String(clean[i])
	}
	return clean
}

func (d *redactor) string(s string) string {
	if d == nil {
		return s
	}
	return d.String(s)
}

func (d *redactor) plan(p *tool.Plan) *tool.Plan {
	if d == nil || p == nil {
		return p
	}
	return &tool.Plan{FilesAffected: d.texts(p.FilesAffected), Preview: d.String(p.Preview)}
}

func (d *redactor) input(q *tool.InputRequired) *tool.InputRequired {
	if d == nil || q == nil {
		return q
	}
	clean := *q
	clean.Form.Message, clean.Form.URL = d.String(q.Form.Message), d.String(q.Form.URL)
	clean.Form.Schema = d.object(q.Form.Schema)
	if q.Form.Sample != nil {
		clean.Form.Sample = d.sample(*q.Form.Sample)
	}
	clean.Also = make([]*tool.InputRequired, len(q.Also))
	for i := range q.Also {
		clean.Also[i] = d.input(q.Also[i])
	}
	return &clean
}

func (d *redactor) sample(request tool.SampleRequest) *tool.SampleRequest {
	request.System, request.Prompt = d.string(request.System), d.string(request.Prompt)
	request.Messages = slices.Clone(request.Messages)
	for i := range request.Messages {
		request.Messages[i].Text = d.string(request.Messages[i].Text)
	}
	return &request
}
