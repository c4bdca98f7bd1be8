package show

import (
	"encoding/json"

	"github.com/toolhost/toolhost/internal/text/jsontext"
)

// Parts are a question's parts, for a page with its own layout. Every text is harmless.
type Parts struct {
	Headline string     `json:"headline"`
	Why      string     `json:"why"`
	Tool     string     `json:"tool"`
	Risk     string     `json:"risk,omitempty"`
	Rule     string     `json:"rule,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	Argv     []string   `json:"argv,omitempty"`
	Params   []PartText `json:"params,omitempty"`
	Files    []string   `json:"files,omitempty"`
	Effect   string     `json:"effect,omitempty"`
}

// PartText is a call's parameter as shown.
type PartText struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Parts returns the whole question in parts.
func (q Question) Parts() Parts {
	p := Parts{Headline: q.Headline(), Why: q.Why(), Tool: Page.Line(q.Tool), Risk: Page.Line(q.Risk), Rule: Page.Line(q.Rule),
		Reason: Text(q.Reason), Effect: Text(q.Effect)}
	for _, word := range q.Argv {
		p.Argv = append(p.Argv, Page.Word(word))
	}
	for _, param := range q.Params {
		p.Params = append(p.Params, PartText{Page.Word(param.Name), valueText(param.Value)})
	}
	for _, file := range q.Files {
		p.Files = append(p.Files, Page.Word(file))
	}
	return p
}

// valueText shows a parameter's value, strings without JSON's quotes.
func valueText(value json.RawMessage) string {
	var text string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return Text(text)
	}
	return Text(jsontext.Indented(value))
}
