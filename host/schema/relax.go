package schema

import (
	"encoding/json"
	"slices"
)

// Relax reads texts that stand where the schema takes no text and that have one
// reading there: "5" for an integer, "true" for a boolean, "[1,2]" for an array.
// Small models often write so. Whether what comes out fits is for Decode to say;
// changed is false when there was nothing of the kind.
func (s *Schema) Relax(raw json.RawMessage) (relaxed json.RawMessage, changed bool) {
	value, err := parse(raw)
	if err != nil {
		return raw, false
	}
	value, changed = relax(s.root, value)
	if !changed {
		return raw, false
	}
	return mustMarshal(value), true
}

func relax(n *node, value any) (_ any, changed bool) {
	if n == nil {
		return value, false
	}
	n = n.resolved()
	if text, ok := value.(string); ok {
		read, ok := n.only(text)
		if !ok {
			return value, false
		}
		value, changed = read, true
	}
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			read, was := relax(n.Properties[name], inner)
			value[name], changed = read, changed || was
		}
	case []any:
		for i, inner := range value {
			read, was := relax(n.item(i), inner)
			value[i], changed = read, changed || was
		}
	}
	return value, changed
}

// only reads a text as the JSON value that it can only be: n names its types,
// and string is none of them.
func (n *node) only(text string) (value any, ok bool) {
	if len(n.Type) == 0 || slices.Contains(n.Type, "string") {
		return nil, false
	}
	value, err := parse([]byte(text))
	if err != nil || value == nil {
		return nil, false
	}
	return value, slices.ContainsFunc(n.Type, func(t string) bool { return isType(t, value) })
}
