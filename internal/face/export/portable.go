package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// maxInline bounds the depth of inlined references, and mostInlined their number: a branching tree
// would fill the memory.
const (
	maxInline   = 8
	mostInlined = 1000
)

// portable returns a tool's parameter schema as the API takes it.
func portable(def *tool.Definition, format Format) (object, error) {
	raw := def.Parameters
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	value, err := decode(ECMA(raw))
	if err != nil {
		return nil, err
	}
	root, ok := value.(object)
	if !ok {
		return nil, fmt.Errorf("it is not an object schema")
	}
	r := rewriter{format: format, root: root, inlined: new(int)}
	out, _ := r.schema(root, 0).(object)
	out = r.flat(out)
	if out.get("type") == nil {
		out = append(object{{"type", "object"}}, out...)
	}
	if out.get("properties") == nil {
		out = append(out, member{"properties", object{}})
	}
	return out, nil
}

type rewriter struct {
	format  Format
	root    object
	inlined *int
}

func (r rewriter) schema(value any, depth int) any {
	if allowed, isBool := value.(bool); isBool {
		if !allowed {
			return false
		}
		return object{}
	}
	in, ok := value.(object)
	if !ok {
		return value
	}
	if target := r.target(in); target != nil {
		if *r.inlined++; depth >= maxInline || *r.inlined > mostInlined {
			return object{{"type", "object"}}
		}
		return r.schema(target, depth+1)
	}
	if kinds := kindsOf(in); len(kinds) > 1 {
		in = eachKind(in, kinds)
	}
	out := object{}
	for _, m := range in {
		out = append(out, r.keyword(m, depth)...)
	}
	return r.taken(out)
}

// target returns a reference's target, with the reference's own description.
func (r rewriter) target(in object) any {
	ref, _ := in.get("$ref").(string)
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	target, ok := r.at(pointer).(object)
	if !ok {
		return object{}
	}
	if description := in.get("description"); description != nil {
		target = append(target.without("description"), member{"description", description})
	}
	return target
}

// at returns the value that a JSON pointer leads to, or nil.
func (r rewriter) at(pointer string) any {
	var value any = r.root
	if pointer, err := url.PathUnescape(pointer); err == nil && pointer != "" {
		for _, step := range strings.Split(pointer, "/")[1:] {
			switch v := value.(type) {
			case object:
				value = v.get(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
			case []any:
				i, err := strconv.Atoi(step)
				if err != nil || i < 0 || i >= len(v) {
					return nil
				}
				value = v[i]
			default:
				return nil
			}
		}
	}
	return value
}

// keyword rewrites a keyword; nil removes it.
func (r rewriter) keyword(m member, depth int) object {
	switch m.Key {
	case "$defs", "definitions", "$schema", "$id", "$comment", "writeOnly": // writeOnly is for the record, not for models
		return nil
	case "type":
		return r.types(m.Value)
	case "properties":
		return object{{m.Key, r.properties(m.Value, depth)}}
	case "items", "additionalProperties", "not":
		m.Value = r.sub(m.Key, m.Value, depth)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		m.Value = r.all(m.Value, depth)
	case "const":
		if ruleOf(r.format, "keywords") != nil {
			m = member{"enum", []any{m.Value}}
		}
	}
	return object{m}
}

// sub rewrites a schema below a keyword. additionalProperties may stay a boolean: every API takes that.
func (r rewriter) sub(key string, value any, depth int) any {
	if _, isBool := value.(bool); isBool && key == "additionalProperties" {
		return value
	}
	return r.schema(value, depth)
}

// types simplifies a list of one type, and maybe null, to that type.
func (r rewriter) types(value any) object {
	names, isList := value.([]any)
	if !isList {
		return object{{"type", value}}
	}
	nullable := slices.Contains(names, any("null"))
	names = slices.DeleteFunc(slices.Clone(names), func(n any) bool { return n == "null" })
	if len(names) == 0 {
		return object{{"type", "null"}}
	}
	out := object{{"type", names[0]}}
	if nullable && r.format == Gemini {
		out = append(out, member{"nullable", true})
	}
	return out
}

func kindsOf(in object) []any {
	names, _ := in.get("type").([]any)
	return slices.DeleteFunc(slices.Clone(names), func(n any) bool { return n == "null" })
}

// eachKind turns a list of types into anyOf; keywords for arrays go to the array.
func eachKind(in object, kinds []any) object {
	out, of := in.without("type"), object{}
	for _, key := range []string{"items", "prefixItems", "minItems", "maxItems", "uniqueItems"} {
		if slices.Contains(kinds, any("array")) && out.has(key) {
			of, out = append(of, member{key, out.get(key)}), out.without(key)
		}
	}
	if out.has("anyOf") { // more specific
		return out
	}
	var any []any
	for _, kind := range kinds {
		one := object{{"type", kind}}
		if kind == "array" {
			one = append(one, of...)
		}
		any = append(any, one)
	}
	if listed, _ := in.get("type").([]interface{}); len(listed) > len(kinds) {
		any = append(any, object{{"type", "null"}})
	}
	return append(out, member{"anyOf", any})
}

func (r rewriter) properties(value any, depth int) object {
	out := object{}
	in, _ := value.(object)
	for _, m := range in {
		out = append(out, member{m.Key, r.schema(m.Value, depth)})
	}
	return out
}

func (r rewriter) all(value any, depth int) []any {
	in, _ := value.([]any)
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = r.schema(v, depth)
	}
	return out
}

// object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	Key   string
	Value any
}

func (o object) get(key string) any {
	for _, m := range o {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

func (o object) has(key string) bool {
	return slices.ContainsFunc(o, func(m member) bool { return m.Key == key })
}

func (o object) without(key string) object {
	return slices.DeleteFunc(slices.Clone(o), func(m member) bool { return m.Key == key })
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, tool.MustMarshal(m.Key)...)
		b = append(b, ':')
		b = append(b, tool.MustMarshal(m.Value)...)
	}
	return append(b, '}'), nil
}

func decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return decodeValue(dec)
}

func decodeValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		out := object{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			value, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			out = append(out, member{key.(string), value})
		}
		_, err := dec.Token()
		return out, err
	case json.Delim('['):
		out := []any{}
		for dec.More() {
			value, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		_, err := dec.Token()
		return out, err
	}
	return token, nil
}
