package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxDepth bounds the nesting of parameters.
const maxDepth = 200

// Violation is one mistake in the parameters.
type Violation struct {
	// Path names the place, "edits[1].old_string"; empty means the whole object.
	Path string `json:"path"`
	// Message is what is wrong and what is wanted.
	Message string `json:"message"`
}

func (v Violation) String() string {
	if v.Path == "" {
		return v.Message
	}
	return v.Path + ": " + v.Message
}

// Join joins violations to one text.
func Join(violations []Violation) string {
	texts := make([]string, len(violations))
	for i, v := range violations {
		texts[i] = v.String()
	}
	return strings.Join(texts, "; ")
}

// Decode decodes a parameter object, adds defaults and checks it, at every depth. Null is the same as missing
// for an optional property that may not be null. An integer written as 3.0 or 3e0, which JSON Schema allows,
// becomes 3. It returns the object as JSON and decoded (numbers as json.Number), or all violations. Empty raw
// and null count as {}.
func (s *Schema) Decode(raw json.RawMessage) (json.RawMessage, map[string]any, []Violation) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage("{}")
	}
	if found := Garbled(raw); found != nil {
		return nil, nil, found
	}
	value, err := parse(raw)
	if err != nil {
		return nil, nil, []Violation{{Message: err.Error()}}
	}
	args, ok := value.(map[string]any)
	if !ok {
		return nil, nil,
			[]Violation{{Message: fmt.Sprintf("the parameters must be a JSON object, not %s", typeName(value))}}
	}
	if dropNulls(s.root, args) {
		raw = mustMarshal(args)
	}
	raw = s.fillDefaults(raw, args)
	v := newValidator()
	v.check(s.root, args, "")
	if len(v.found) == 0 && s.full != nil {
		v.checkFull(s.full, raw)
	}
	if len(v.found) > 0 {
		return nil, nil, v.found
	}
	if _, changed := plainIntegers(s.root, args); changed {
		raw = mustMarshal(args)
	}
	return raw, args, nil
}

// Check returns all violations of a value of any kind.
func (s *Schema) Check(raw json.RawMessage) []Violation {
	value, err := parse(raw)
	if err != nil {
		return []Violation{{Message: err.Error()}}
	}
	v := newValidator()
	v.check(s.root, value, "")
	if len(v.found) == 0 && s.full != nil {
		v.checkFull(s.full, raw)
	}
	return v.found
}

// dropNulls removes optional properties, at every depth, that are null and may not be: models whose schemas
// require every property write null for one that they do not set.
func dropNulls(n *node, value any) (dropped bool) {
	if object, ok := value.(map[string]any); ok {
		required, properties := make(map[string]bool), make(map[string][]*node)
		n.facets(value, func(f *node) {
			for _, name := range f.Required {
				required[name] = true
			}
			for name, p := range f.Properties {
				properties[name] = append(properties[name], p)
			}
		})
		for name, inner := range object {
			mayBe := func(p *node) bool { return new(validator).matching([]*node{p}, nil) > 0 }
			if inner == nil && properties[name] != nil && !required[name] && !all(properties[name], mayBe) {
				delete(object, name)
				dropped = true
			}
		}
	}
	n.inner(value, func(child *node, inner any) any {
		dropped = dropNulls(child, inner) || dropped
		return inner
	})
	return dropped
}

func all(nodes []*node, holds func(*node) bool) bool {
	return !slices.ContainsFunc(nodes, func(n *node) bool { return !holds(n) })
}

// fillDefaults adds the defaults of missing properties to args, and returns raw with them. Top-level ones are
// spliced in, so that large values are not rewritten.
func (s *Schema) fillDefaults(raw json.RawMessage, args map[string]any) json.RawMessage {
	added := fill(s.root, args)
	nested := false
	s.root.inner(args, func(child *node, inner any) any {
		nested = fillNested(child, inner) || nested
		return inner
	})
	if nested {
		return mustMarshal(args)
	}
	if added == "" {
		return raw
	}
	body := raw[:len(raw)-1]
	if len(bytes.TrimSpace(body)) == 1 {
		added = added[1:]
	}
	return slices.Concat(body, json.RawMessage(added), json.RawMessage("}"))
}

// fill adds the defaults of an object itself, and returns them as JSON, each after a comma. A null default
// counts only if the property may be null.
func fill(n *node, object map[string]any) string {
	var added strings.Builder
	n.facets(object, func(f *node) {
		for _, name := range f.order {
			property := f.Properties[name].resolved()
			if _, given := object[name]; given || property.Default == nil {
				continue
			}
			value, err := parse(property.Default)
			if err != nil || value == nil && new(validator).matching([]*node{property}, nil) == 0 {
				continue
			}
			object[name] = value
			key, _ := json.Marshal(name)
			fmt.Fprintf(&added, ",%s:%s", key, property.Default)
		}
	})
	return added.String()
}

// fillNested fills defaults below the top level and reports whether there were any.
func fillNested(n *node, value any) (filled bool) {
	if object, ok := value.(map[string]any); ok {
		filled = fill(n, object) != ""
	}
	n.inner(value, func(child *node, inner any) any {
		filled = fillNested(child, inner) || filled
		return inner
	})
	return filled
}

// resolved follows references; a cycle ends at its first node.
func (n *node) resolved() *node {
	for i := 0; n.target != nil && i < maxDepth; i++ {
		n = n.target
	}
	return n
}

// parse decodes one JSON value and refuses what encoding/json accepts: duplicate keys, trailing text, deep
// nesting.
func parse(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	value, err := parseValue(dec, "", 0)
	if err != nil {
		return nil, describe(err, raw)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, fmt.Errorf("the parameters hold text behind the JSON object, at byte %d", dec.InputOffset())
	}
	return value, nil
}

func parseValue(dec *json.Decoder, path string, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s is nested more than %d levels deep", path, maxDepth)
	}
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return parseObject(dec, path, depth)
	case json.Delim('['):
		return parseArray(dec, path, depth)
	}
	return token, nil
}

func parseObject(dec *json.Decoder, path string, depth int) (any, error) {
	object := make(map[string]any)
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		key, _ := token.(string)
		at := join(path, key)
		if _, twice := object[key]; twice {
			return nil, fmt.Errorf("%s is given twice; give it once", at)
		}
		if object[key], err = parseValue(dec, at, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return object, err
}

func parseArray(dec *json.Decoder, path string, depth int) (any, error) {
	array := []any{}
	for dec.More() {
		value, err := parseValue(dec, fmt.Sprintf("%s[%d]", path, len(array)), depth+1)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := dec.Token()
	return array, err
}

func describe(err error, raw []byte) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		before := raw[:min(int(syntax.Offset), len(raw))]
		return fmt.Errorf("the parameters are not valid JSON: line %d, column %d: %w",
			bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'), err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the parameters are not valid JSON: they end too early, a bracket, brace or quote is not closed")
	}
	return err
}

func keys(raw json.RawMessage) []string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	var names []string
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return names
		}
		name, _ := token.(string)
		names = append(names, name)
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return names
		}
	}
	return names
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func mustMarshal(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("schema: cannot marshal decoded JSON: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Integer is an int in any form that JSON Schema counts as an integer. Forms such as 3.0 or 1e2 are clamped to
// 32 bits.
type Integer int

// UnmarshalJSON implements json.Unmarshaler. A number may be quoted, as on the command line without a schema.
func (n *Integer) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if i, err := strconv.Atoi(text); err == nil {
		*n = Integer(i)
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil && !math.IsInf(f, 0) {
		return fmt.Errorf("%q is not an integer", text)
	}
	*n = Integer(math.Max(-1<<31, math.Min(f, math.MaxInt32)))
	return nil
}

// plainIntegers rewrites integers with fraction or exponent, which encoding/json does not decode into an int.
func plainIntegers(n *node, value any) (plain any, changed bool) {
	if number, ok := value.(json.Number); ok {
		if slices.Contains(n.kinds(0), "integer") && strings.ContainsAny(string(number), ".eE") {
			if f, ok := parseNumber(string(number)); ok && f.IsInt() {
				if i, exact := f.Int64(); exact == big.Exact {
					return json.Number(strconv.FormatInt(i, 10)), true
				}
			}
		}
		return value, false
	}
	n.inner(value, func(child *node, inner any) any {
		plain, was := plainIntegers(child, inner)
		changed = changed || was
		return plain
	})
	return value, changed
}
