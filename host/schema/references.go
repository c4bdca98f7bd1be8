package schema

import (
	"net/url"
	"strings"
)

// references know where the references of a schema lead to, however a draft
// lets them be written: JSON pointers, anchors, and the $id of a part.
type references struct {
	root    *object
	uris    map[*object]*url.URL           // of the root, and of parts with an $id
	parts   map[string]*object             // by these
	anchors map[*object]map[string]*object // names within a part
	within  map[*object]*object            // the part that an object is in
}

func newReferences(root *object) *references {
	r := &references{root: root, uris: map[*object]*url.URL{root: {}}, parts: make(map[string]*object),
		anchors: make(map[*object]map[string]*object), within: make(map[*object]*object)}
	r.note(root, root)
	return r
}

func (r *references) note(value any, part *object) {
	switch value := value.(type) {
	case []any:
		for _, inner := range value {
			r.note(inner, part)
		}
	case *object:
		part = r.name(value, part)
		r.within[value] = part
		for _, m := range value.members {
			r.note(m.value, part)
		}
	}
}

// name notes what an object is called, and gives the part that it is in.
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

// target is the schema, an *object or a bool, that a reference in an object
// leads to.
func (r *references) target(from *object, ref string) (target any, ok bool) {
	address, fragment, _ := strings.Cut(ref, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, false
	}
	parts := []*object{r.within[from], r.root} // some write id and mean nothing by it
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

// inRoot is what a reference leads to that is a JSON pointer from the root.
func inRoot(root any, ref string) (any, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(fragment)
	if !ok || err != nil || pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	return pointed(root, pointer)
}

// refTo is the reference that is a JSON pointer.
func refTo(pointer string) string { return "#" + (&url.URL{Fragment: pointer}).EscapedFragment() }
