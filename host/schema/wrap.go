package schema

import (
	"bytes"
	"encoding/json"
	"strings"
)

// WrapKey is the property for a value that is not an object.
const WrapKey = "result"

// IsObject reports whether a schema's root allows only objects.
func IsObject(raw json.RawMessage) bool {
	var root struct {
		Type json.RawMessage `json:"type"`
	}
	return json.Unmarshal(raw, &root) == nil && string(root.Type) == `"object"`
}

// Wrap returns the schema of an object whose property WrapKey has the schema raw, with its references adjusted.
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

// dataKeywords have values whose keys are no keywords.
var dataKeywords = map[string]bool{"const": true, "enum": true, "default": true, "examples": true}

// moved adjusts references to the schema's new place. names is set for an object of schemas by name. A schema
// with $id keeps its own.
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
