package schema

import (
	"encoding/json"
	"slices"
)

// Relax converts a text where the schema allows no text to the only value that it can be: "5" for an integer,
// "true" for a boolean, "[1,2]" for an array, as small models write. Decode checks the result.
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
	if text, ok := value.(string); ok {
		read, ok := n.only(text)
		if !ok {
			return value, false
		}
		value, changed = read, true
	}
	n.inner(value, func(child *node, inner any) any {
		read, was := relax(child, inner)
		changed = changed || was
		return read
	})
	return value, changed
}

// only parses a text as JSON if n names its types and string is not among them.
func (n *node) only(text string) (value any, ok bool) {
	kinds := n.kinds(0)
	if len(kinds) == 0 || slices.Contains(kinds, "string") {
		return nil, false
	}
	value, err := parse([]byte(text))
	if err != nil || value == nil {
		return nil, false
	}
	return value, slices.ContainsFunc(kinds, func(t string) bool { return isType(t, value) })
}
