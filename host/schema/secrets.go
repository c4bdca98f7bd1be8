package schema

import (
	"encoding/json"
	"regexp"
	"slices"
)

// Secrets finds values that a schema marks as writeOnly. It is safe for concurrent use.
type Secrets struct {
	root  any
	refs  *references
	names map[string]*regexp.Regexp // of patternProperties; nil for unreadable patterns
}

// SecretsOf returns nil for a schema without marks. With invalid JSON all is secret.
func SecretsOf(raw json.RawMessage) *Secrets {
	root, ok := parseTree(raw)
	if !ok && len(raw) > 0 {
		root = &object{[]member{{"writeOnly", true}}}
	}
	o, ok := root.(*object)
	if !ok {
		return nil
	}
	s := &Secrets{root: o, refs: newReferences(o), names: make(map[string]*regexp.Regexp)}
	some := false
	for inner := range s.refs.within {
		some = some || marked(inner)
		patterns, _ := inner.get("patternProperties")
		if named, ok := patterns.(*object); ok {
			for _, m := range named.members {
				s.names[m.key], _ = regexp.Compile(m.key)
			}
		}
	}
	if !some {
		return nil
	}
	return s
}

// Hide replaces secrets in a value by the result of hide. A value of another form than the schema expects is a
// secret as a whole, and so is an unknown property beside secret ones: it may be one of them misspelled. The
// error is for invalid JSON.
func (s *Secrets) Hide(raw json.RawMessage, hide func(secret any) any) (json.RawMessage, error) {
	value, err := parse(raw)
	if err != nil {
		return nil, err
	}
	w := hider{Secrets: s, hide: hide}
	value = w.value([]any{s.root}, value)
	if !w.changed {
		return raw, nil
	}
	return mustMarshal(value), nil
}

// Texts returns the marked texts of a value that fits the schema.
func (s *Secrets) Texts(raw json.RawMessage) (found []string) {
	value, err := parse(raw)
	if err != nil {
		return nil
	}
	w := hider{Secrets: s, fits: true, hide: func(secret any) any {
		found = append(found, TextsIn(secret)...)
		return nil
	}}
	w.value([]any{s.root}, value)
	return found
}

type hider struct {
	*Secrets
	fits    bool // the value is known to fit
	hide    func(secret any) any
	changed bool
}

// value hides secrets in a value to which schemas apply.
func (w *hider) value(schemas []any, value any) any {
	all, secret := w.inPlace(schemas)
	switch v := value.(type) {
	case nil:
		if !secret {
			return nil
		}
	case map[string]any:
		if !secret && !w.mayHoldSecret(all, forItems) {
			for name, inner := range v {
				v[name] = w.property(all, name, inner)
			}
			return v
		}
	case []any:
		if !secret && !w.mayHoldSecret(all, forProperties) {
			for i, inner := range v {
				v[i] = w.value(itemSchemas(all, i), inner)
			}
			return v
		}
	default:
		secret = secret || w.mayHoldSecret(all, forProperties) || w.mayHoldSecret(all, forItems) ||
			w.mayHoldSecret(all, forText)
	}
	if !secret && !isContainer(value) {
		return value
	}
	w.changed = true
	return w.hide(value)
}

func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// The keywords with schemas for parts of a value, by its kind.
var (
	forProperties = []string{"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"}
	forItems      = []string{"prefixItems", "items", "additionalItems", "unevaluatedItems", "contains"}
	forText       = []string{"contentSchema"}
)

// inPlace returns all schemas that apply to a value, and whether one of them marks it or cannot be found.
func (w *hider) inPlace(schemas []any) (all []*object, secret bool) {
	queue := slices.Clone(schemas)
	for i := 0; i < len(queue); i++ {
		o, ok := queue[i].(*object)
		if !ok || slices.Contains(all, o) {
			continue
		}
		all = append(all, o)
		more, unknown := w.refs.next(o)
		secret = secret || unknown || marked(o)
		queue = append(queue, more...)
	}
	return all, secret
}

// mayHoldSecret reports whether there may be a secret mayHoldSecret these keywords, for values that may not fit.
func (w *hider) mayHoldSecret(all []*object, keywords []string) bool {
	return !w.fits && slices.ContainsFunc(all, func(o *object) bool {
		return slices.ContainsFunc(o.members, func(m member) bool {
			return slices.Contains(keywords, m.key) && w.holds(m.value, make(map[*object]bool))
		})
	})
}

// holds reports whether there is a mark in a schema, or in what it refers to.
func (w *hider) holds(value any, seen map[*object]bool) bool {
	switch value := value.(type) {
	case []any:
		return slices.ContainsFunc(value, func(inner any) bool { return w.holds(inner, seen) })
	case *object:
		if seen[value] {
			return false
		}
		seen[value] = true
		more, unknown := w.refs.next(value)
		return unknown || marked(value) || w.holds(more, seen) ||
			slices.ContainsFunc(value.members, func(m member) bool { return w.holds(m.value, seen) })
	}
	return false
}

// property hides secrets in a property.
func (w *hider) property(all []*object, name string, value any) any {
	var schemas []any
	declared := false
	for _, o := range all {
		own := false
		for _, keyword := range forProperties[:2] {
			named, _ := o.get(keyword)
			byName, _ := named.(*object)
			for _, m := range membersOf(byName) {
				if keyword == "properties" && m.key == name || keyword != "properties" && w.matches(m.key, name) {
					schemas, own = append(schemas, m.value), true
				}
			}
		}
		for _, keyword := range forProperties[2:] {
			rest, given := o.get(keyword)
			if given && rest != false && !own {
				schemas, declared = append(schemas, rest), true
			}
		}
		declared = declared || own
	}
	if !declared && w.mayHoldSecret(all, forProperties) {
		w.changed = true
		return w.hide(value)
	}
	return w.value(schemas, value)
}

func membersOf(o *object) []member {
	if o == nil {
		return nil
	}
	return o.members
}

// matches returns true for an unreadable pattern.
func (w *hider) matches(pattern, name string) bool {
	re := w.names[pattern]
	return re == nil || re.MatchString(name)
}

func itemSchemas(all []*object, i int) (schemas []any) {
	for _, o := range all {
		value, _ := o.get("prefixItems")
		first, _ := value.([]any)
		items, _ := o.get("items")
		if list, isList := items.([]any); isList { // as in older drafts
			first = list
			items, _ = o.get("additionalItems")
		}
		if i < len(first) {
			schemas = append(schemas, first[i])
		} else {
			schemas = append(schemas, items)
		}
		for _, keyword := range forItems[3:] {
			more, _ := o.get(keyword)
			schemas = append(schemas, more)
		}
	}
	return schemas
}

// TextsIn returns the texts in a decoded value.
func TextsIn(value any) (found []string) {
	switch value := value.(type) {
	case string:
		if value != "" {
			found = []string{value}
		}
	case []any:
		for _, inner := range value {
			found = append(found, TextsIn(inner)...)
		}
	case map[string]any:
		for _, inner := range value {
			found = append(found, TextsIn(inner)...)
		}
	}
	return found
}
