// Package schema checks parameters against a JSON Schema and says everything
// that is wrong with them at once.
//
// Only what tools use is checked by this package: types, properties, items,
// enumerations, ranges, lengths, patterns, combinations and references within
// the schema. A schema that uses any other keyword of JSON Schema 2020-12 is
// checked by github.com/google/jsonschema-go in addition, which stops at its
// first finding.
package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a compiled JSON Schema. It may be used by several goroutines.
type Schema struct {
	root *node
	full *jsonschema.Resolved // nil when this package checks every keyword
}

// node is one schema object. Pointers distinguish absent from zero.
type node struct {
	Type                 types                       `json:"type"`
	Properties           map[string]*node            `json:"properties"`
	Required             []string                    `json:"required"`
	AdditionalProperties *node                       `json:"additionalProperties"`
	Items                *node                       `json:"items"`
	Enum                 []json.RawMessage           `json:"enum"`
	Const                json.RawMessage             `json:"const"`
	Default              json.RawMessage             `json:"default"`
	Minimum              *json.Number                `json:"minimum"`
	Maximum              *json.Number                `json:"maximum"`
	ExclusiveMinimum     *json.Number                `json:"exclusiveMinimum"`
	ExclusiveMaximum     *json.Number                `json:"exclusiveMaximum"`
	MinLength            *int                        `json:"minLength"`
	MaxLength            *int                        `json:"maxLength"`
	Pattern              string                      `json:"pattern"`
	MinItems             *int                        `json:"minItems"`
	MaxItems             *int                        `json:"maxItems"`
	UniqueItems          bool                        `json:"uniqueItems"`
	AnyOf                []*node                     `json:"anyOf"`
	OneOf                []*node                     `json:"oneOf"`
	AllOf                []*node                     `json:"allOf"`
	Not                  *node                       `json:"not"`
	Ref                  string                      `json:"$ref"`
	Defs                 map[string]*node            `json:"$defs"`
	Description          string                      `json:"description"`
	order                []string                    // property names as written
	never                bool                        // the schema false
	pattern              *regexp.Regexp              // compiled Pattern
	target               *node                       // what Ref points to
	limits               map[*json.Number]*big.Float // parsed numbers
}

// known are the keywords that node checks or that check nothing.
var known = map[string]bool{
	"type": true, "properties": true, "required": true, "additionalProperties": true, "items": true,
	"enum": true, "const": true, "default": true, "minimum": true, "maximum": true,
	"exclusiveMinimum": true, "exclusiveMaximum": true, "minLength": true, "maxLength": true,
	"pattern": true, "minItems": true, "maxItems": true, "uniqueItems": true, "anyOf": true,
	"oneOf": true, "allOf": true, "not": true, "$ref": true, "$defs": true, "description": true,
	"title": true, "examples": true, "$schema": true, "$id": true, "$comment": true, "format": true,
	"deprecated": true, "readOnly": true, "writeOnly": true,
}

// Compile reads a schema. Empty raw is the schema of a tool without
// parameters: an object with no properties.
func Compile(raw json.RawMessage) (*Schema, error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type":"object","additionalProperties":false}`)
	}
	root := new(node)
	if err := json.Unmarshal(raw, root); err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	if err := root.link(root); err != nil {
		return nil, err
	}
	s := &Schema{root: root}
	if beyond(raw) {
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
	full, err := js.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("not a JSON Schema: %w", err)
	}
	return full, nil
}

// UnmarshalJSON accepts the boolean schemas too and keeps the order in which
// properties are written.
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

// link compiles patterns and numbers and finds what references point to.
func (n *node) link(root *node) error {
	if n == nil {
		return nil
	}
	if n.Pattern != "" {
		re, err := regexp.Compile(n.Pattern)
		if err != nil {
			return fmt.Errorf("not a JSON Schema: pattern %q: %w", n.Pattern, err)
		}
		n.pattern = re
	}
	if n.Ref != "" {
		target, err := root.find(n.Ref)
		if err != nil {
			return err
		}
		n.target = target
	}
	if err := n.parseLimits(); err != nil {
		return err
	}
	return n.eachChild(func(c *node) error { return c.link(root) })
}

// parseLimits reads the numeric bounds once.
func (n *node) parseLimits() error {
	for _, bound := range []*json.Number{n.Minimum, n.Maximum, n.ExclusiveMinimum, n.ExclusiveMaximum} {
		if bound == nil {
			continue
		}
		f, ok := parseNumber(string(*bound))
		if !ok {
			return fmt.Errorf("not a JSON Schema: bound %q is no number", *bound)
		}
		if n.limits == nil {
			n.limits = make(map[*json.Number]*big.Float)
		}
		n.limits[bound] = f
	}
	return nil
}

// eachChild calls fn for every schema directly inside n.
func (n *node) eachChild(fn func(*node) error) error {
	var children []*node
	for _, name := range n.order {
		children = append(children, n.Properties[name])
	}
	for _, def := range n.Defs {
		children = append(children, def)
	}
	children = append(children, n.AdditionalProperties, n.Items, n.Not)
	children = append(append(append(children, n.AnyOf...), n.OneOf...), n.AllOf...)
	for _, c := range children {
		if c == nil {
			continue
		}
		if err := fn(c); err != nil {
			return err
		}
	}
	return nil
}

// find follows a reference of the form "#" or "#/$defs/NAME".
func (n *node) find(ref string) (*node, error) {
	if ref == "#" {
		return n, nil
	}
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	if !ok {
		return nil, fmt.Errorf("not a usable JSON Schema: reference %q leads outside $defs", ref)
	}
	name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
	target := n.Defs[name]
	if target == nil {
		return nil, fmt.Errorf("not a JSON Schema: reference %q leads nowhere", ref)
	}
	return target, nil
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
		case "properties", "$defs":
			var inner map[string]json.RawMessage
			_ = json.Unmarshal(value, &inner)
			for _, v := range inner {
				if beyond(v) {
					return true
				}
			}
		case "anyOf", "oneOf", "allOf":
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
