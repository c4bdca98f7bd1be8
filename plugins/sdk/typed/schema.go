package typed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolhost/toolhost/host/tool"
)

// Schema returns the JSON Schema of values of type t, in the subset that every model API takes: one
// type for each value, no reference at the top, no boolean schemas, and no additional properties.
//
// A field without omitempty or omitzero is required. A field's tags:
//
//	json:"name,omitempty"     its name; optional
//	jsonschema:"Which city."  its description
//	enum:"celsius,kelvin"     the allowed values
//	default:"celsius"         the default, which makes it optional
//	minimum:"1" maximum:"9"   the bounds of a number
//	sensitive:"true"          a setting that is never shown (writeOnly)
func Schema(t reflect.Type) (json.RawMessage, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: knownTypes()})
	if err != nil {
		return nil, fmt.Errorf("no JSON Schema for %s: %w", t, err)
	}
	portable(s)
	if err := applyTags(s, t); err != nil {
		return nil, fmt.Errorf("no JSON Schema for %s: %w", t, err)
	}
	if s.Type == "object" && s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	data, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("no JSON Schema for %s: %w", t, err)
	}
	return data, nil
}

// knownTypes are the types with their own encoding in encoding/json.
func knownTypes() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[json.Number]():     {Type: "number"},
	}
}

// portable removes null from types that Go lets be nil, throughout s.
func portable(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) > 0 {
		s.Type, s.Types = notNull(s.Types), nil
	}
	if isAny(s.AdditionalProperties) {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		portable(p)
		describeAny(p)
	}
	describeAny(s.Items)
	portable(s.Items)
	portable(s.AdditionalProperties)
}

func notNull(types []string) string {
	for _, t := range types {
		if t != "null" {
			return t
		}
	}
	return "null"
}

// describeAny prevents encoding an unrestricted schema as true.
func describeAny(s *jsonschema.Schema) {
	if isAny(s) {
		s.Description = "Any JSON value."
	}
}

func isAny(s *jsonschema.Schema) bool {
	return s != nil && reflect.DeepEqual(*s, jsonschema.Schema{})
}

func applyTags(s *jsonschema.Schema, t reflect.Type) error {
	if s == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return applyTags(s, t.Elem())
	case reflect.Slice, reflect.Array:
		return applyTags(s.Items, t.Elem())
	case reflect.Map:
		return applyTags(s.AdditionalProperties, t.Elem())
	case reflect.Struct:
		return applyFields(s, t)
	}
	return nil
}

func applyFields(s *jsonschema.Schema, t reflect.Type) error {
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = field.Name
		}
		property := s.Properties[name]
		if property == nil || !field.IsExported() {
			continue
		}
		if err := applyField(s, property, name, field); err != nil {
			return fmt.Errorf("field %s: %w", field.Name, err)
		}
		if err := applyTags(property, field.Type); err != nil {
			return err
		}
	}
	return nil
}

func applyField(parent, s *jsonschema.Schema, name string, field reflect.StructField) error {
	if tag, ok := field.Tag.Lookup("default"); ok {
		value, err := literal(tag, s.Type)
		if err != nil {
			return err
		}
		s.Default = tool.MustMarshal(value)
		parent.Required = without(parent.Required, name)
	}
	if tag, ok := field.Tag.Lookup("enum"); ok {
		if err := applyEnum(s, tag); err != nil {
			return err
		}
	}
	s.WriteOnly = field.Tag.Get("sensitive") == "true"
	var err error
	if s.Minimum, err = bound(field.Tag, "minimum", s.Minimum); err != nil {
		return err
	}
	s.Maximum, err = bound(field.Tag, "maximum", s.Maximum)
	return err
}

func applyEnum(s *jsonschema.Schema, tag string) error {
	target := s
	if s.Items != nil {
		target = s.Items
	}
	for text := range strings.SplitSeq(tag, ",") {
		value, err := literal(strings.TrimSpace(text), target.Type)
		if err != nil {
			return err
		}
		target.Enum = append(target.Enum, value)
	}
	return nil
}

func bound(tags reflect.StructTag, name string, old *float64) (*float64, error) {
	tag, ok := tags.Lookup(name)
	if !ok {
		return old, nil
	}
	value, err := strconv.ParseFloat(tag, 64)
	if err != nil {
		return nil, fmt.Errorf("tag %s is not a number: %q", name, tag)
	}
	return &value, nil
}

// literal parses a tag as a value of a JSON type: text verbatim, others as JSON.
func literal(tag, typ string) (any, error) {
	if typ == "string" {
		return tag, nil
	}
	var value any
	if err := json.Unmarshal([]byte(tag), &value); err != nil {
		return nil, fmt.Errorf("tag value %q is not a JSON %s", tag, typ)
	}
	return value, nil
}

func without(list []string, name string) []string {
	var out []string
	for _, s := range list {
		if s != name {
			out = append(out, s)
		}
	}
	return out
}
