package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object in written order. Its identity is that of the place in the schema.
type object struct{ members []member }

type member struct {
	key   string
	value any // *object, []any, string, json.Number, bool or nil
}

func (o *object) index(key string) int {
	return slices.IndexFunc(o.members, func(m member) bool { return m.key == key })
}

func (o *object) get(key string) (value any, ok bool) {
	if i := o.index(key); i >= 0 {
		return o.members[i].value, true
	}
	return nil, false
}

func (o *object) set(key string, value any) {
	if i := o.index(key); i >= 0 {
		o.members[i].value = value
		return
	}
	o.members = append(o.members, member{key, value})
}

func (o *object) rename(old, key string, value any) {
	if i := o.index(old); i >= 0 {
		o.members[i] = member{key, value}
	}
}

func (o *object) remove(key string) {
	o.members = slices.DeleteFunc(o.members, func(m member) bool { return m.key == key })
}

// MarshalJSON writes the members in order.
func (o *object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o.members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, mustMarshal(m.key)...), ':'), mustMarshal(m.value)...)
	}
	return append(b, '}'), nil
}

// parseTree decodes JSON in written order. The last of duplicate keys counts, as in encoding/json.
func parseTree(raw []byte) (any, bool) {
	if !json.Valid(raw) {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return parseTreeValue(dec), true
}

func parseTreeValue(dec *json.Decoder) any {
	token, _ := dec.Token()
	switch token {
	case json.Delim('{'):
		o, at := new(object), make(map[string]int)
		for dec.More() {
			token, _ := dec.Token()
			key, _ := token.(string)
			value := parseTreeValue(dec)
			if i, twice := at[key]; twice {
				o.members[i].value = value
				continue
			}
			at[key] = len(o.members)
			o.members = append(o.members, member{key, value})
		}
		_, _ = dec.Token()
		return o
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			list = append(list, parseTreeValue(dec))
		}
		_, _ = dec.Token()
		return list
	}
	return token
}

// pointed follows a JSON pointer (RFC 6901).
func pointed(value any, pointer string) (any, bool) {
	if pointer == "" {
		return value, true
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		ok := false
		switch v := value.(type) {
		case *object:
			value, ok = v.get(unescape(step))
		case []any:
			var i int
			if i, ok = listIndex(step, len(v)); ok {
				value = v[i]
			}
		}
		if !ok {
			return nil, false
		}
	}
	return value, true
}

// listIndex returns the list index that a step of a pointer names.
func listIndex(step string, length int) (int, bool) {
	i, err := strconv.Atoi(step)
	return i, err == nil && i >= 0 && i < length && strconv.Itoa(i) == step
}

// The escapes of a JSON pointer.
var (
	unescape = strings.NewReplacer("~1", "/", "~0", "~").Replace
	escape   = strings.NewReplacer("~", "~0", "/", "~1").Replace
)
