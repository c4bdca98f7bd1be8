package argv

import (
	"encoding/json"
	"slices"
	"strings"
)

// SchemaParams returns the properties of an object schema as parameters for expressions, sorted by name. Values
// other than text, number, bool or lists of them become compact JSON.
func SchemaParams(raw json.RawMessage) []Param {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	params := make([]Param, 0, len(object.Properties))
	for name, raw := range object.Properties {
		var property struct {
			Type  json.RawMessage `json:"type"`
			Items json.RawMessage `json:"items"`
		}
		_ = json.Unmarshal(raw, &property) // true and false are schemas too
		p := Param{Name: name, Type: paramType(property.Type)}
		if p.Type == TypeList {
			var items struct {
				Type json.RawMessage `json:"type"`
			}
			_ = json.Unmarshal(property.Items, &items)
			p.Item = paramType(items.Type)
		}
		if !slices.Contains(object.Required, name) {
			p.Default = json.RawMessage("null")
		}
		params = append(params, p)
	}
	slices.SortFunc(params, func(a, b Param) int { return strings.Compare(a.Name, b.Name) })
	return params
}

// paramType maps a schema's type keyword to a type, string by default.
func paramType(raw json.RawMessage) Type {
	var name string
	if json.Unmarshal(raw, &name) != nil {
		return TypeString
	}
	switch name {
	case "integer", "number":
		return Type(name)
	case "boolean":
		return TypeBool
	case "array":
		return TypeList
	}
	return TypeString
}
