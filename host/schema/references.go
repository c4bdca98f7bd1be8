package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// references resolves those of a schema of any draft: JSON pointers, anchors, and the $id of a part.
type references struct {
	root    *object
	uris    map[*object]*url.URL           // of the root, and of parts with an $id
	parts   map[string]*object             // by these
	anchors map[*object]map[string]*object // names within a part
	within  map[*object]*object            // the part that contains an object
}

func newReferences(root *object) *references {
	r := &references{root: root, uris: map[*object]*url.URL{root: {}}, parts: make(map[string]*object),
		anchors: make(map[*object]map[string]*object), within: make(map[*object]*object)}
	r.indexObjects(root, root)
	return r
}

func (r *references) indexObjects(value any, part *object) {
	switch value := value.(type) {
	case []any:
		for _, inner := range value {
			r.indexObjects(inner, part)
		}
	case *object:
		part = r.name(value, part)
		r.within[value] = part
		for _, m := range value.members {
			r.indexObjects(m.value, part)
		}
	}
}

// name notes the names of an object, and returns the part that contains it.
func (r *references) name(o, part *object) *object {
	for _, key := range []string{"$id", "id", "$anchor", "$dynamicAnchor"} {
		value, _ := o.get(key)
		text, _ := value.(string)
		anchor, isAnchor := strings.CutPrefix(text, "#")
		isAnchor = isAnchor || strings.HasSuffix(strings.ToLower(key), "anchor")
		switch {
		case text == "":
		case isAnchor:
			if r.anchors[part] == nil {
				r.anchors[part] = make(map[string]*object)
			}
			r.anchors[part][anchor] = o
		default:
			if uri, err := r.uris[part].Parse(text); err == nil {
				uri.Fragment = ""
				part, r.uris[o], r.parts[uri.String()] = o, uri, o
			}
		}
	}
	return part
}

// target returns the schema, an *object or a bool, that a reference in an object leads to.
func (r *references) target(from *object, ref string) (target any, ok bool) {
	address, fragment, _ := strings.Cut(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, false
	}
	parts := []*object{r.within[from], r.root} // some write id without meaning
	if address != "" {
		uri, err := r.uris[r.within[from]].Parse(address)
		if err != nil || r.parts[uri.String()] == nil {
			return nil, false
		}
		parts = []*object{r.parts[uri.String()]}
	}
	for _, part := range parts {
		if fragment == "" || fragment[0] == '/' {
			target, _ = pointed(part, fragment)
		} else if named := r.anchors[part][fragment]; named != nil {
			target = named
		}
		switch target.(type) {
		case *object, bool:
			return target, true
		}
	}
	return nil, false
}

// forItself are the keywords whose schemas apply to the same value.
var forItself = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else"}

// next returns the schemas that apply where o does.
func (r *references) next(o *object) (more []any, unknown bool) {
	for _, m := range o.members {
		switch {
		case slices.Contains(forItself, m.key):
			more = append(more, elements(m.value)...)
		case m.key == "dependentSchemas" || m.key == "dependencies":
			if named, ok := m.value.(*object); ok {
				for _, dependent := range named.members {
					more = append(more, dependent.value)
				}
			}
		case slices.Contains(refKeywords, m.key):
			ref, _ := m.value.(string)
			target, found := r.target(o, ref)
			more, unknown = append(more, target), unknown || !found
		}
	}
	return more, unknown
}

func elements(value any) []any {
	if all, ok := value.([]any); ok {
		return all
	}
	return []any{value}
}

// endless reports whether a schema refers, for the same value, to itself, so that no check would end.
func (r *references) endless(o *object) bool {
	queue, _ := r.next(o)
	seen := make(map[*object]bool)
	for i := 0; i < len(queue); i++ {
		next, ok := queue[i].(*object)
		if next == o {
			return true
		}
		if !ok || seen[next] {
			continue
		}
		seen[next] = true
		more, _ := r.next(next)
		queue = append(queue, more...)
	}
	return false
}

// endlessRef returns a reference of a schema that never ends, or "".
func endlessRef(raw json.RawMessage) string {
	if !bytes.Contains(raw, []byte(`Ref"`)) && !bytes.Contains(raw, []byte(`$ref"`)) {
		return ""
	}
	tree, _ := parseTree(raw)
	root, ok := tree.(*object)
	if !ok {
		return ""
	}
	refs := newReferences(root)
	for o := range refs.within {
		for _, key := range refKeywords {
			if ref, _ := o.get(key); ref != nil && refs.endless(o) {
				return fmt.Sprint(ref)
			}
		}
	}
	return ""
}

var refKeywords = []string{"$ref", "$dynamicRef", "$recursiveRef"}

// inRoot returns the target of a reference that is a JSON pointer from the root.
func inRoot(root any, ref string) (any, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(fragment)
	if !ok || err != nil || pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	return pointed(root, pointer)
}
