package schema

import (
	"encoding/json"
	"slices"
)

// Leniency uses these, so that it applies everywhere: in properties and items, behind references, in maps, and
// in unambiguous alternatives, such as pydantic's Optional.

// mostCombined bounds how deep alternatives within alternatives are followed.
const mostCombined = 6

// facets calls do with the schemas of a value: n, those of allOf, and the one alternative whose types allow it.
func (n *node) facets(value any, do func(*node)) { n.facetsAt(value, 0, do) }

func (n *node) facetsAt(value any, depth int, do func(*node)) {
	n = n.resolved()
	do(n)
	if depth == mostCombined {
		return
	}
	for _, part := range n.AllOf {
		part.facetsAt(value, depth+1, do)
	}
	for _, alternatives := range [][]*node{n.AnyOf, n.OneOf} {
		var meant *node
		for _, one := range alternatives {
			kinds := one.kinds(0)
			if len(kinds) > 0 && !slices.ContainsFunc(kinds, func(t string) bool { return isType(t, value) }) {
				continue
			}
			if meant != nil {
				meant = nil
				break
			}
			meant = one
		}
		if meant != nil {
			meant.facetsAt(value, depth+1, do)
		}
	}
}

// inner replaces each value in an object or list by the result of do, which gets its schema.
func (n *node) inner(value any, do func(child *node, inner any) any) {
	switch value := value.(type) {
	case map[string]any:
		n.facets(value, func(f *node) {
			for name := range value {
				for _, child := range f.property(name) {
					value[name] = do(child, value[name])
				}
			}
		})
	case []any:
		n.facets(value, func(f *node) {
			for i := range value {
				if child := f.item(i); child != nil {
					value[i] = do(child, value[i])
				}
			}
		})
	}
}

// kinds returns the types that a value may have; empty if the schema does not say.
func (n *node) kinds(depth int) (kinds []string) {
	n = n.resolved()
	if len(n.Type) > 0 || depth == mostCombined {
		return n.Type
	}
	values := n.Enum
	if n.Const != nil {
		values = []json.RawMessage{n.Const}
	}
	for _, raw := range values {
		if value, err := parse(raw); err == nil {
			kinds = append(kinds, typeName(value))
		}
	}
	for _, part := range n.AllOf {
		if len(kinds) == 0 {
			kinds = part.kinds(depth + 1)
		}
	}
	for _, alternatives := range [][]*node{n.AnyOf, n.OneOf} {
		if len(kinds) > 0 {
			break
		}
		for _, one := range alternatives {
			more := one.kinds(depth + 1)
			if len(more) == 0 {
				return nil
			}
			kinds = append(slices.Clip(kinds), more...)
		}
	}
	return kinds
}
