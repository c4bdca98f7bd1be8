package host

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/host/tool"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// minSecret is the length in bytes below which a value is not looked for: it
// would take harmless text out and protect nothing.
const minSecret = 4

// secrets is what is to be taken out, now.
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

// redactor takes given values out of results. Nothing else is touched: what a
// tool reads from a file comes through as it is.
type redactor struct{ text, json *strings.Replacer }

// newRedactor gives nil when there is nothing to take out.
func newRedactor(secrets []string) *redactor {
	values := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < minSecret })
	if len(values) == 0 {
		return nil
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	var plain, escaped []string
	for _, value := range values {
		literal := tool.MustMarshal(value)
		inJSON := string(literal[1 : len(literal)-1])
		plain = append(plain, value, redacted, inJSON, redacted) // a text may be JSON
		escaped = append(escaped, inJSON, redacted)
	}
	return &redactor{strings.NewReplacer(plain...), strings.NewReplacer(escaped...)}
}

// result gives r without secrets. r itself is not changed, because a tool may
// keep it.
func (d *redactor) result(r *tool.Result) *tool.Result {
	if d == nil || r == nil {
		return r
	}
	clean := *r
	clean.Contents = slices.Clone(r.Contents)
	for i := range clean.Contents {
		c := &clean.Contents[i]
		c.Text, c.URI, c.Name = d.text.Replace(c.Text), d.text.Replace(c.URI), d.text.Replace(c.Name)
		if len(c.Data) > 0 {
			c.Data = []byte(d.text.Replace(string(c.Data)))
		}
		if len(c.MCP) > 0 {
			c.MCP = json.RawMessage(d.json.Replace(string(c.MCP)))
		}
	}
	clean.FilesAffected = d.texts(r.FilesAffected)
	clean.Metadata = d.details(r.Metadata)
	if len(r.Structured) > 0 {
		clean.Structured = json.RawMessage(d.json.Replace(string(r.Structured)))
	}
	clean.Failed = d.error(r.Failed)
	return &clean
}

// error gives e without secrets.
func (d *redactor) error(e *tool.Error) *tool.Error {
	if d == nil || e == nil {
		return e
	}
	clean := tool.Errorf(e.Code, "%s", d.text.Replace(e.Message))
	clean.Suggestion = d.text.Replace(e.Suggestion)
	clean.Details = d.details(e.Details)
	return clean
}

// details gives the map itself when there is nothing to take out, since its
// values lose their types on the way through JSON.
func (d *redactor) details(details map[string]any) map[string]any {
	if len(details) == 0 {
		return details
	}
	data, err := json.Marshal(details)
	if err != nil {
		return nil
	}
	clean := []byte(d.json.Replace(string(data)))
	if bytes.Equal(clean, data) {
		return maps.Clone(details)
	}
	var out map[string]any
	_ = json.Unmarshal(clean, &out)
	return out
}

// object gives JSON without secrets.
func (d *redactor) object(raw json.RawMessage) json.RawMessage {
	if d == nil || len(raw) == 0 {
		return raw
	}
	return json.RawMessage(d.json.Replace(string(raw)))
}

func (d *redactor) texts(texts []string) []string {
	if d == nil {
		return texts
	}
	clean := slices.Clone(texts)
	for i := range clean {
		clean[i] = d.text.Replace(clean[i])
	}
	return clean
}

// string gives s without secrets.
func (d *redactor) string(s string) string {
	if d == nil {
		return s
	}
	return d.text.Replace(s)
}

// plan gives p without secrets.
func (d *redactor) plan(p *tool.Plan) *tool.Plan {
	if d == nil || p == nil {
		return p
	}
	return &tool.Plan{FilesAffected: d.texts(p.FilesAffected), Preview: d.text.Replace(p.Preview)}
}

// input gives a question without secrets.
func (d *redactor) input(q *tool.InputRequired) *tool.InputRequired {
	if d == nil || q == nil {
		return q
	}
	clean := *q
	clean.Form.Message, clean.Form.URL = d.text.Replace(q.Form.Message), d.text.Replace(q.Form.URL)
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

// sample gives a question to a model without secrets.
func (d *redactor) sample(request tool.SampleRequest) *tool.SampleRequest {
	request.System, request.Prompt = d.string(request.System), d.string(request.Prompt)
	request.Messages = slices.Clone(request.Messages)
	for i := range request.Messages {
		request.Messages[i].Text = d.string(request.Messages[i].Text)
	}
	return &request
}
