package schema

import (
	"net/url"
	"slices"
	"strconv"
)

// refer writes references as JSON pointers from the root. A referenced schema outside of schema keywords is
// copied to $defs.
func (a *adapter) refer() {
	for i := 0; i < len(a.referring); i++ {
		o := a.referring[i]
		written, given := o.get("$ref")
		if !given {
			continue
		}
		text, _ := written.(string)
		target, isObject := a.targets[o].(*object)
		if !isObject {
			o.remove("$ref")
			if a.targets[o] == false {
				o.set("not", new(object))
			}
			a.changed = true
			continue
		}
		if _, placed := a.places[target]; !placed {
			target = a.copied(target)
		}
		if now, ok := inRoot(a.root, text); !ok || now != target {
			o.set("$ref", "#"+(&url.URL{Fragment: a.places[target]}).EscapedFragment())
			a.changed = true
		}
	}
}

// end removes the references that never end.
func (a *adapter) end() {
	refs := newReferences(a.root)
	for _, o := range a.referring {
		for _, key := range refKeywords {
			if o.index(key) >= 0 && refs.endless(o) {
				a.drop(o, a.places[o], key, "leads to itself", false)
			}
		}
	}
}

func (a *adapter) copied(target *object) *object {
	if a.copies[target] == nil {
		a.copies[target], _ = a.clone(target).(*object)
	}
	c := a.copies[target]
	if _, placed := a.places[c]; placed {
		return c
	}
	value, _ := a.root.get("$defs")
	defs, ok := value.(*object)
	if !ok {
		defs = new(object)
		a.root.set("$defs", defs)
	}
	name := unusedKey(defs, "schema"+strconv.Itoa(len(defs.members)))
	defs.set(name, c)
	a.changed = true
	a.schema(c, "/$defs/"+name)
	return c
}

func (a *adapter) clone(value any) any {
	switch value := value.(type) {
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = a.clone(value[i])
		}
		return out
	case *object:
		out := &object{slices.Clone(value.members)}
		for i := range out.members {
			out.members[i].value = a.clone(out.members[i].value)
		}
		if target, ok := a.targets[value]; ok {
			a.targets[out] = target
		}
		return out
	}
	return value
}
