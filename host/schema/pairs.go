package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// FromPairs builds a parameter object from key=value texts of a command line, by the schema: strings are taken
// as written; numbers, booleans, objects and null are parsed as JSON; an array is parsed as JSON if it begins
// with '[', otherwise each pair of that key adds an item. key:=JSON sets any value. The object must still be
// checked by Decode. The zero Schema takes every value as text.
func (s *Schema) FromPairs(pairs []string) (json.RawMessage, []Violation) {
	object := make(map[string]any)
	var found []Violation
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			found = append(found, Violation{Path: pair, Message: "is not of the form key=value"})
			continue
		}
		if !utf8.ValidString(pair) {
			found = append(found, Violation{Path: strings.TrimSuffix(key, ":"), Message: notText})
			continue
		}
		if err := s.setPair(object, key, text); err != nil {
			found = append(found, Violation{Path: strings.TrimSuffix(key, ":"), Message: err.Error()})
		}
	}
	if len(found) > 0 {
		return nil, found
	}
	return mustMarshal(object), nil
}

func (s *Schema) setPair(object map[string]any, key, text string) error {
	name, isJSON := strings.CutSuffix(key, ":")
	if isJSON {
		if !json.Valid([]byte(text)) {
			return fmt.Errorf("%s=... takes JSON, and this is not valid JSON: %s", key, text)
		}
		return setOnce(object, name, json.RawMessage(text))
	}
	var property *node
	if s.root != nil {
		property = s.root.Properties[name]
	}
	if property == nil {
		return setOnce(object, name, text)
	}
	property = property.resolved()
	if property.takesItems() && !strings.HasPrefix(strings.TrimSpace(text), "[") {
		item := any(text)
		property.facets([]any{}, func(f *node) {
			if f.Items != nil {
				item = scalar(f.Items, text)
			}
		})
		items, _ := object[name].([]any)
		object[name] = append(items, item)
		return nil
	}
	return setOnce(object, name, scalar(property, text))
}

// takesItems reports whether pairs of n's key are items: it has type array, or alternatives with arrays and no
// text.
func (n *node) takesItems() bool {
	kinds := n.kinds(0)
	return slices.Contains(n.Type, "array") || slices.Contains(kinds, "array") && !slices.Contains(kinds, "string")
}

func setOnce(object map[string]any, name string, value any) error {
	if _, twice := object[name]; twice {
		return fmt.Errorf("is given twice; give it once")
	}
	object[name] = value
	return nil
}

// scalar parses text as the type of n. Text of another type stays text, for Decode to report.
func scalar(n *node, text string) any {
	if n == nil {
		return text
	}
	kinds := n.kinds(0)
	if len(kinds) == 0 || slices.Contains(kinds, "string") {
		return text
	}
	trimmed := strings.TrimSpace(text)
	value, err := parse([]byte(trimmed))
	if err != nil || !slices.ContainsFunc(kinds, func(t string) bool { return isType(t, value) }) {
		return text
	}
	return json.RawMessage(trimmed)
}
