package schema

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/text/truncate"
)

// judge tries a keyword alone and removes it if unreadable.
func (a *adapter) judge(o *object, m member, at string) {
	if m.key == "$ref" || m.key == "$dynamicRef" {
		return
	}
	err := readable(m)
	if err == nil {
		return
	}
	switch value := m.value.(type) {
	case []any:
		if m.key == "required" {
			left := slices.DeleteFunc(slices.Clone(value), func(name any) bool { _, ok := name.(string); return !ok })
			o.set(m.key, left)
			a.protect(o, value)
			a.lose(at, m.key, "has an item that is not a name", false)
			return
		}
	case *object:
		if m.key == "patternProperties" {
			a.patterns(o, value, at)
			return
		}
	}
	why := "cannot be " + truncate.Shorten(string(mustMarshal(m.value)), 80)
	if bad, ok := errors.AsType[*syntax.Error](err); ok {
		why = "cannot be read: " + bad.Error()
	} else if text := strings.TrimPrefix(err.Error(), "not a JSON Schema: "); !strings.Contains(text, "json: ") {
		why = "cannot be read: " + text
	}
	a.drop(o, at, m.key, why, foreignPattern(err))
}

// foreignPattern reports whether a pattern may be valid in another dialect of regular expressions.
func foreignPattern(err error) bool {
	bad, ok := errors.AsType[*syntax.Error](err)
	return ok && slices.Contains([]syntax.ErrorCode{syntax.ErrInvalidPerlOp, syntax.ErrInvalidCharRange,
		syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatSize, syntax.ErrInvalidNamedCapture, syntax.ErrLarge}, bad.Code)
}

// readable tries a keyword alone, with schemas in it that accept anything.
func readable(m member) error {
	value := m.value
	switch inner := value.(type) {
	case []any:
		if holders[m.key] == listOfSchemas {
			value = slices.Repeat([]any{true}, len(inner))
		}
	case *object:
		switch holders[m.key] {
		case oneSchema:
			value = true
		case namedSchemas:
			empty := new(object)
			for _, name := range inner.members {
				empty.members = append(empty.members, member{name.key, true})
			}
			value = empty
		}
	}
	raw := mustMarshal(&object{[]member{{m.key, value}}})
	if _, err := Compile(raw); err != nil {
		return err
	}
	_, err := resolve(raw)
	return err
}

// patterns removes unreadable names. Their properties are handled, and protected, as any other.
func (a *adapter) patterns(o, byPattern *object, at string) {
	rest, given := o.get("additionalProperties")
	if !given {
		rest = true
	}
	either := []any{rest}
	for _, m := range slices.Clone(byPattern.members) {
		err := readable(member{"patternProperties", &object{[]member{{m.key, true}}}})
		if err == nil {
			continue
		}
		byPattern.remove(m.key)
		either = append(either, m.value)
		a.lose(at, "patternProperties", "has a pattern that cannot be read: "+truncate.Shorten(m.key, 80),
			foreignPattern(err))
	}
	o.set("additionalProperties", &object{[]member{{"anyOf", either}}})
	for i, schema := range either {
		if s, ok := schema.(*object); ok {
			a.move(s, fmt.Sprintf("%s/additionalProperties/anyOf/%d", at, i))
		}
	}
}

// move notes the new place of a schema and of those below it.
func (a *adapter) move(o *object, to string) {
	from := a.places[o] + "/"
	a.places[o] = to
	for inner, place := range a.places {
		if below, ok := strings.CutPrefix(place, from); ok {
			a.places[inner] = to + "/" + below
		}
	}
}
