// Package schema checks parameters against a JSON Schema and reports all violations at once.
//
// It checks what tools use: types, properties, items, enumerations, ranges, lengths, patterns, combinations and
// local references. Other keywords of 2020-12 are also checked, by github.com/google/jsonschema-go, which stops
// at its first finding.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolhost/toolhost/internal/text/nearest"
)

// Schema is a compiled JSON Schema. It may be used by several goroutines.
type Schema struct {
	root *node
	full *jsonschema.Resolved // nil if this package checks every keyword
}

// node is one schema object. Pointers distinguish absent from zero.
type node struct {
	Type                 types                     `json:"type"`
	Properties           map[string]*node          `json:"properties"`
	Required             []string                  `json:"required"`
	AdditionalProperties *node                     `json:"additionalProperties"`
	PatternProperties    map[string]*node          `json:"patternProperties"`
	Items                *node                     `json:"items"`
	PrefixItems          []*node                   `json:"prefixItems"`
	Enum                 []json.RawMessage         `json:"enum"`
	Const                json.RawMessage           `json:"const"`
	Default              json.RawMessage           `json:"default"`
	Minimum              *bound                    `json:"minimum"`
	Maximum              *bound                    `json:"maximum"`
	ExclusiveMinimum     *bound                    `json:"exclusiveMinimum"`
	ExclusiveMaximum     *bound                    `json:"exclusiveMaximum"`
	MinLength            *int                      `json:"minLength"`
	MaxLength            *int                      `json:"maxLength"`
	Pattern              string                    `json:"pattern"`
	MinItems             *int                      `json:"minItems"`
	MaxItems             *int                      `json:"maxItems"`
	UniqueItems          bool                      `json:"uniqueItems"`
	AnyOf                []*node                   `json:"anyOf"`
	OneOf                []*node                   `json:"oneOf"`
	AllOf                []*node                   `json:"allOf"`
	Not                  *node                     `json:"not"`
	Ref                  string                    `json:"$ref"`
	Defs                 map[string]*node          `json:"$defs"`
	Description          string                    `json:"description"`
	order                []string                  // property names as written
	never                bool                      // the schema false
	pattern              *regexp.Regexp            // compiled Pattern
	patterns             map[string]*regexp.Regexp // of PatternProperties
	target               *node                     // what Ref points to
	limits               map[*bound]*big.Float     // parsed numbers
}

// known are the keywords that node checks or that check nothing.
var known = map[string]bool{
	"type": true, "properties": true, "required": true, "additionalProperties": true, "items": true,
	"enum": true, "const": true, "default": true, "minimum": true, "maximum": true,
	"exclusiveMinimum": true, "exclusiveMaximum": true, "minLength": true, "maxLength": true,
	"pattern": true, "minItems": true, "maxItems": true, "uniqueItems": true, "anyOf": true,
	"oneOf": true, "allOf": true, "not": true, "$ref": true, "$defs": true, "description": true,
	"title": true, "examples": true, "$schema": true, "$id": true, "$comment": true, "format": true,
	"deprecated": true, "readOnly": true, "writeOnly": true, "prefixItems": true, "patternProperties": true,
	"definitions": true,
}

// Compile compiles a schema. Empty raw is an object without properties, for a tool without parameters.
func Compile(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	root := new(node)
	if err := json.Unmarshal(raw, root); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	l := linker{root: root, raw: raw, found: make(map[string]*node)}
	if err := l.link(root, ""); err != nil {
		return nil, err
	}
	s := &Schema{root: root}
	if beyond(raw) {
		if ref := endlessRef(raw); ref != "" {
			return nil, fmt.Errorf("not a usable JSON Schema: reference %q leads to itself", ref)
		}
		full, err := resolve(raw)
		if err != nil {
			return nil, err
		}
		s.full = full
	}
	return s, nil
}

// resolve compiles raw with the library that knows every keyword.
func resolve(raw json.RawMessage) (*jsonschema.Resolved, error) {
	var js jsonschema.Schema
	if err := json.Unmarshal(raw, &js); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	js.Schema = "" // the library refuses drafts that it does not know
	full, err := js.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	return full, nil
}

// UnmarshalJSON also accepts boolean schemas, and keeps the order of properties.
func (n *node) UnmarshalJSON(data []byte) error {
	switch strings.TrimSpace(string(data)) {
	case "true":
		return nil
	case "false":
		n.never = true
		return nil
	}
	type plain node
	if err := json.Unmarshal(data, (*plain)(n)); err != nil {
		return err
	}
	if len(n.Properties) == 0 {
		return nil
	}
	var raw struct {
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	n.order = keys(raw.Properties)
	return nil
}

type linker struct {
	root  *node
	raw   json.RawMessage
	tree  any              // of raw, once a reference needs it
	found map[string]*node // targets of references
}

// link checks keywords, compiles patterns and numbers and resolves references. path is n's place in the schema.
func (l *linker) link(n *node, path string) error {
	if n == nil {
		return nil
	}
	if err := n.checkKeywords(); err != nil {
		return fmt.Errorf("not a JSON Schema: %s%w", at(path), err)
	}
	if n.Pattern != "" {
		re, err := regexp.Compile(n.Pattern)
		if err != nil {
			return fmt.Errorf("not a JSON Schema: pattern %q: %w", n.Pattern, err)
		}
		n.pattern = re
	}
	for pattern := range n.PatternProperties {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return fmt.Errorf("not a JSON Schema: patternProperties %q: %w", pattern, err)
		}
		if n.patterns == nil {
			n.patterns = make(map[string]*regexp.Regexp)
		}
		n.patterns[pattern] = re
	}
	if n.Ref != "" {
		target, err := l.find(n.Ref)
		if err != nil {
			return err
		}
		n.target = target
	}
	if err := n.parseLimits(); err != nil {
		return err
	}
	return n.eachChild(func(name string, c *node) error { return l.link(c, join(path, name)) })
}

func (n *node) property(name string) []*node {
	var found []*node
	if p := n.Properties[name]; p != nil {
		found = append(found, p)
	}
	for _, pattern := range slices.Sorted(maps.Keys(n.patterns)) {
		if n.patterns[pattern].MatchString(name) {
			found = append(found, n.PatternProperties[pattern])
		}
	}
	if found == nil && n.AdditionalProperties != nil {
		found = append(found, n.AdditionalProperties)
	}
	return found
}

// item returns the schema of an item of a list, nil for any value.
func (n *node) item(i int) *node {
	if i < len(n.PrefixItems) {
		return n.PrefixItems[i]
	}
	return n.Items
}

// find follows a reference that is a JSON pointer from the root.
func (l *linker) find(ref string) (*node, error) {
	if ref == "#" {
		return l.root, nil
	}
	if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok && l.root.Defs[unescape(name)] != nil {
		return l.root.Defs[unescape(name)], nil
	}
	if n := l.found[ref]; n != nil {
		return n, nil
	}
	if l.tree == nil {
		l.tree, _ = parseTree(l.raw)
	}
	value, ok := inRoot(l.tree, ref)
	if !ok {
		return nil, fmt.Errorf("not a usable JSON Schema: reference %q leads nowhere within it", ref)
	}
	n := new(node)
	if err := json.Unmarshal(mustMarshal(value), n); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: reference %q leads to something that is not a schema: %w", ref, err)
	}
	l.found[ref] = n // before its own references are followed
	return n, l.link(n, ref)
}

var typeNames = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

// checkKeywords refuses invalid values: model APIs refuse all tools for one such schema.
func (n *node) checkKeywords() error {
	for i, name := range n.Type {
		if !slices.Contains(typeNames, name) {
			hint := ""
			if near := nearest.Name(name, typeNames); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			return fmt.Errorf("%q is not a type%s", name, hint)
		}
		if slices.Contains(n.Type[:i], name) {
			return fmt.Errorf("the type %q stands there twice", name)
		}
	}
	if n.Type != nil && len(n.Type) == 0 {
		return errors.New("type is an empty list")
	}
	for keyword, count := range map[string]*int{"minLength": n.MinLength, "maxLength": n.MaxLength,
		"minItems": n.MinItems, "maxItems": n.MaxItems} {
		if count != nil && *count < 0 {
			return fmt.Errorf("%s is %d, less than nothing", keyword, *count)
		}
	}
	return nil
}

// at returns a place in a schema as the beginning of a message.
func at(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

// parseLimits parses the numeric bounds once.
func (n *node) parseLimits() error {
	for _, limit := range []*bound{n.Minimum, n.Maximum, n.ExclusiveMinimum, n.ExclusiveMaximum} {
		if limit == nil {
			continue
		}
		f, ok := parseNumber(string(*limit))
		if !ok {
			return fmt.Errorf("not a JSON Schema: bound %q is not a number", *limit)
		}
		if n.limits == nil {
			n.limits = make(map[*bound]*big.Float)
		}
		n.limits[limit] = f
	}
	return nil
}

// eachChild calls fn for every schema directly inside n.
func (n *node) eachChild(fn func(path string, child *node) error) error {
	var failed error
	visit := func(path string, child *node) {
		if child != nil && failed == nil {
			failed = fn(path, child)
		}
	}
	for _, name := range n.order {
		visit("properties."+name, n.Properties[name])
	}
	for keyword, named := range map[string]map[string]*node{"$defs": n.Defs, "patternProperties": n.PatternProperties} {
		for _, name := range slices.Sorted(maps.Keys(named)) {
			visit(keyword+"."+name, named[name])
		}
	}
	visit("additionalProperties", n.AdditionalProperties)
	visit("items", n.Items)
	visit("not", n.Not)
	for keyword, list := range map[string][]*node{"anyOf": n.AnyOf, "oneOf": n.OneOf, "allOf": n.AllOf,
		"prefixItems": n.PrefixItems} {
		for i, child := range list {
			visit(fmt.Sprintf("%s[%d]", keyword, i), child)
		}
	}
	return failed
}

// bound is a number as written. A json.Number would accept one in quotes.
type bound string

func (b *bound) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return fmt.Errorf("the bound %s is a text", data)
	}
	*b = bound(data)
	return nil
}

// types is the "type" keyword: one name or a list of names.
type types []string

func (t *types) UnmarshalJSON(data []byte) error {
	var one string
	if err := json.Unmarshal(data, &one); err == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// beyond reports whether a schema uses a keyword that node does not check.
func beyond(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return false
	}
	for key, value := range object {
		if !known[key] {
			return true
		}
		switch key {
		case "properties", "patternProperties", "$defs", "definitions":
			var inner map[string]json.RawMessage
			_ = json.Unmarshal(value, &inner)
			for _, v := range inner {
				if beyond(v) {
					return true
				}
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			var inner []json.RawMessage
			_ = json.Unmarshal(value, &inner)
			for _, v := range inner {
				if beyond(v) {
					return true
				}
			}
		case "items", "additionalProperties", "not":
			if beyond(value) {
				return true
			}
		}
	}
	return false
}
