package host

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// minSecret is the length in bytes below which a value is not looked for: it
// would take harmless text out and protect nothing.
const minSecret = 4

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
		clean.Contents[i].Text = d.text.Replace(clean.Contents[i].Text)
	}
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
	if e.Details != nil {
		_ = json.Unmarshal([]byte(d.json.Replace(string(tool.MustMarshal(e.Details)))), &clean.Details)
	}
	return clean
}
