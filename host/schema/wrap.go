package schema

import (
	"bytes"
	"encoding/json"
	"strings"
)

// WrapKey is the one property of the object that holds a value which is not an
// object itself.
const WrapKey = "result"

// IsObject reports whether a schema says, at its root, that it is that of an
// object. A schema of all kinds of values is not.
func IsObject(raw json.RawMessage) bool {
	var root struct {
		Type json.RawMessage `json:"type"`
	}
	return json.Unmarshal(raw, &root) == nil && string(root.Type) == `"object"`
}

// Wrap gives the schema of an object whose property WrapKey holds what raw
// describes. References within raw still lead to the same place.
func Wrap(raw json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var inner any
	if err := dec.Decode(&inner); err != nil {
		return nil, err
	}
	return mustMarshal(map[string]any{
		"type": "object", "properties": map[string]any{WrapKey: moved(inner, false)}, "required": []string{WrapKey},
	}), nil
}

// dataKeywords hold values: there a key is no keyword.
var dataKeywords = map[string]bool{"const": true, "enum": true, "default": true, "examples": true}

// moved has the references of a schema begin at its new place. names is true
// for an object of schemas by names. What has an $id keeps its own references.
func moved(value any, names bool) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = moved(value[i], false)
		}
	case map[string]any:
		if id, ok := value["$id"].(string); ok && !names && !strings.HasPrefix(id, "#") {
			return value
		}
		for key, inner := range value {
			ref, isText := inner.(string)
			switch {
			case names:
				value[key] = moved(inner, false)
			case key == "$ref" && isText && (ref == "#" || strings.HasPrefix(ref, "#/")):
				value[key] = "#/properties/" + WrapKey + ref[1:]
			case !dataKeywords[key]:
				value[key] = moved(inner, holders[key] == namedSchemas)
			}
		}
	}
	return value
}
