package argv

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// Type is the type of a parameter, or of the items of a list.
type Type string

// The types.
const (
	TypeString  Type = "string"
	TypeInteger Type = "integer"
	TypeNumber  Type = "number"
	TypeBool    Type = "bool"
	TypeList    Type = "list"
)

// Param is a parameter of a typed command.
type Param struct {
	Name, Description string
	Type              Type
	// Item is the type of a list's items.
	Item Type
	// Enum are the only values, as texts, of a string or of list items.
	Enum []string
	// Pattern is a regular expression (RE2) that a string must match.
	Pattern string
	// Min and Max bound a number, the characters of a string or the items of a list; "" for no bound.
	Min, Max json.Number
	// Default is used without a value; null omits its argument. Nil makes the parameter required.
	Default json.RawMessage
	// Path is Read, Write or Remove for a path, otherwise empty.
	Path Kind
	// Dash allows a leading dash where the program would take the value as an option.
	Dash bool
	// Pos is where the parameter was declared, for messages.
	Pos string
}

// Required reports whether a call must give the parameter.
func (p *Param) Required() bool { return p.Default == nil }

func paramSchema(params []Param) json.RawMessage {
	var properties strings.Builder
	required := []string{}
	for i := range params {
		if i > 0 {
			properties.WriteByte(',')
		}
		fmt.Fprintf(&properties, "%s:%s", tool.MustMarshal(params[i].Name), params[i].schema())
		if params[i].Required() {
			required = append(required, params[i].Name)
		}
	}
	list := ""
	if len(required) > 0 {
		list = `,"required":` + string(tool.MustMarshal(required))
	}
	return json.RawMessage(`{"type":"object","properties":{` + properties.String() + `}` + list +
		`,"additionalProperties":false}`)
}

// paramJSON fixes the order of a parameter's keywords.
type paramJSON struct {
	Type        string          `json:"type"`
	Description string          `json:"description,omitempty"`
	Enum        []string        `json:"enum,omitempty"`
	Pattern     string          `json:"pattern,omitempty"`
	Minimum     json.Number     `json:"minimum,omitempty"`
	Maximum     json.Number     `json:"maximum,omitempty"`
	MinLength   json.Number     `json:"minLength,omitempty"`
	MaxLength   json.Number     `json:"maxLength,omitempty"`
	MinItems    json.Number     `json:"minItems,omitempty"`
	MaxItems    json.Number     `json:"maxItems,omitempty"`
	Items       *paramJSON      `json:"items,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
}

func (p *Param) schema() json.RawMessage { return tool.MustMarshal(p.keywords()) }

func (p *Param) keywords() paramJSON {
	s := paramJSON{Type: jsonType(p.Type), Description: p.Description}
	if p.Default != nil && string(p.Default) != "null" {
		s.Default = p.Default
	}
	switch p.Type {
	case TypeInteger, TypeNumber:
		s.Minimum, s.Maximum = p.Min, p.Max
	case TypeString:
		s.Enum, s.Pattern, s.MinLength, s.MaxLength = p.Enum, p.Pattern, p.Min, p.Max
	case TypeList:
		s.MinItems, s.MaxItems = p.Min, p.Max
		s.Items = &paramJSON{Type: jsonType(p.Item), Enum: p.Enum, Pattern: p.Pattern}
	}
	return s
}

func jsonType(t Type) string {
	switch t {
	case TypeBool:
		return "boolean"
	case TypeList:
		return "array"
	}
	return string(t)
}
