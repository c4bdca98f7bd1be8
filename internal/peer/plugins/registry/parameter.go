package registry

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// Parameter describes one parameter of a tool.
type Parameter struct {
	Name        string
	Description string
	// Type is string, integer, number, boolean, array or object.
	Type     string
	Required bool
	// Default is the value when the parameter is left out; nil is none.
	Default any
	// Enum lists the values allowed; nil allows all.
	Enum []any
	// Items is the JSON Schema of an array's items, Properties those of an
	// object's members.
	Items      map[string]any
	Properties map[string]any
	// Secret keeps the value out of the record of calls.
	Secret bool
}

// Strings makes an Enum of strings.
func Strings(values ...string) []any {
	list := make([]any, len(values))
	for i, v := range values {
		list[i] = v
	}
	return list
}

// Schema gives the JSON Schema of an object with these parameters, in their
// order. It does not say that there are no others: a tool that wants to
// refuse unknown ones does so itself, or adds additionalProperties.
func Schema(params ...Parameter) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for i, p := range params {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(tool.MustMarshal(p.Name))
		b.WriteByte(':')
		b.Write(p.schema())
		if p.Required {
			required = append(required, p.Name)
		}
	}
	b.WriteByte('}')
	if len(required) > 0 {
		b.WriteString(`,"required":`)
		b.Write(tool.MustMarshal(required))
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}

// Strict is Schema for tools that take no other parameters.
func Strict(params ...Parameter) json.RawMessage {
	s := Schema(params...)
	return slices.Concat(s[:len(s)-1], json.RawMessage(`,"additionalProperties":false}`))
}

// schema is the JSON Schema of the parameter's value.
func (p Parameter) schema() json.RawMessage {
	return tool.MustMarshal(struct {
		Type        string         `json:"type"`
		Description string         `json:"description,omitempty"`
		Enum        []any          `json:"enum,omitempty"`
		Items       map[string]any `json:"items,omitempty"`
		Properties  map[string]any `json:"properties,omitempty"`
		Default     any            `json:"default,omitempty"`
		WriteOnly   bool           `json:"writeOnly,omitempty"`
	}{p.Type, p.Description, p.Enum, p.Items, p.Properties, p.defaultValue(), p.Secret})
}

// defaultValue keeps a default that is the zero value of its type.
func (p Parameter) defaultValue() any {
	if p.Default == nil {
		return nil
	}
	return tool.MustMarshal(p.Default)
}
