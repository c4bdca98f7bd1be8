package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/tool"
)

// What an API refuses (refused.json) is expressed otherwise, in words or left out: toolhost checks all
// of it at the call.

// taken returns a schema as the API takes it; nested schemas must have been converted.
func (r rewriter) taken(s object) object {
	if allowed := ruleOf(r.format, "keywords"); allowed != nil {
		s = merged(s, "allOf", true)
		if s.has("anyOf") {
			s = merged(s, "oneOf", false)
		} else if s.has("oneOf") {
			s = append(s.without("oneOf"), member{"anyOf", s.get("oneOf")})
		}
		s = withoutNull(s)
		s = slices.DeleteFunc(s, func(m member) bool { return !slices.Contains(allowed.Keywords, m.Key) })
	}
	if items := ruleOf(r.format, "items"); items != nil && items.refuses(s) {
		s = append(s, member{"items", object{}})
	}
	if texts := ruleOf(r.format, "enum"); texts != nil && s.has("enum") {
		s = enumOfTexts(s, texts)
	}
	if formats := ruleOf(r.format, "format"); formats != nil && s.get("type") == "string" {
		if format, _ := s.get("format").(string); !slices.Contains(formats.Keywords, format) {
			s = s.without("format")
		}
	}
	if ruleOf(r.format, "required") != nil {
		s = withoutRequired(s, undefined(s))
	}
	return s
}

// flat returns a parameter schema with a root that the API takes.
func (r rewriter) flat(s object) object {
	if root := ruleOf(r.format, "root"); root != nil {
		for _, key := range root.Keywords {
			s = merged(s, key, key == "allOf").without(key)
		}
	}
	if names := ruleOf(r.format, "names"); names != nil {
		properties, _ := s.get("properties").(object)
		var left []any
		for _, m := range properties {
			if !names.name.MatchString(m.Key) {
				left = append(left, m.Key)
			}
		}
		if len(left) > 0 {
			s = s.with("properties", slices.DeleteFunc(slices.Clone(properties),
				func(m member) bool { return slices.Contains(left, any(m.Key)) }))
			s = withoutRequired(s, left)
		}
	}
	return s
}

// merged merges the schemas below a keyword into the schema: with all, everything that it lacks, else
// only their properties.
func merged(s object, keyword string, all bool) object {
	parts, ok := s.get(keyword).([]any)
	if !ok {
		return s
	}
	s = s.without(keyword)
	for _, part := range parts {
		part, _ := part.(object)
		if !all {
			part = merged(merged(merged(part, "allOf", true), "anyOf", false), "oneOf", false)
		}
		for _, m := range part {
			switch {
			case m.Key == "properties":
				s = s.with(m.Key, union(s.get(m.Key), m.Value))
			case !all:
			case m.Key == "required":
				have, _ := s.get(m.Key).([]any)
				more, _ := m.Value.([]any)
				for _, name := range more {
					if !slices.Contains(have, name) {
						have = append(slices.Clip(have), name)
					}
				}
				s = s.with(m.Key, have)
			case !s.has(m.Key):
				s = append(s, m)
			}
		}
	}
	return s
}

// union returns the properties of both schemas; the first one's count.
func union(first, more any) object {
	out, _ := first.(object)
	out = slices.Clone(out)
	in, _ := more.(object)
	for _, m := range in {
		if !out.has(m.Key) {
			out = append(out, m)
		}
	}
	return out
}

// withoutNull replaces null among several types by nullable.
func withoutNull(s object) object {
	parts, _ := s.get("anyOf").([]any)
	isNull := func(part any) bool {
		o, _ := part.(object)
		return o.get("type") == "null"
	}
	if !slices.ContainsFunc(parts, isNull) {
		return s
	}
	rest := slices.DeleteFunc(slices.Clone(parts), isNull)
	s = s.with("nullable", true)
	switch len(rest) {
	case 0:
		return append(s.without("anyOf").without("nullable"), member{"type", "null"})
	case 1:
		return merged(s.with("anyOf", rest), "anyOf", true)
	}
	return s.with("anyOf", rest)
}

// enumOfTexts leaves an enum of strings, and moves other values to the description.
func enumOfTexts(s object, texts *refusal) object {
	values, _ := s.get("enum").([]any)
	if texts.refuses(s) {
		said := make([]string, len(values))
		for i, v := range values {
			said[i] = string(tool.MustMarshal(v))
		}
		description, _ := s.get("description").(string)
		told := strings.TrimSpace(fmt.Sprintf("%s One of: %s.", description, strings.Join(said, ", ")))
		return s.without("enum").with("description", told)
	}
	if slices.Contains(values, nil) {
		s = s.with("nullable", true)
	}
	values = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil || v == "" })
	if len(values) == 0 {
		return s.without("enum")
	}
	return s.with("enum", values).with("type", "string")
}

func withoutRequired(s object, names []any) object {
	required, _ := s.get("required").([]any)
	if len(names) == 0 || len(required) == 0 {
		return s
	}
	required = slices.DeleteFunc(slices.Clone(required), func(n any) bool { return slices.Contains(names, n) })
	if len(required) == 0 {
		return s.without("required")
	}
	return s.with("required", required)
}

// with returns the object with a member set, in its place or at the end.
func (o object) with(key string, value any) object {
	o = slices.Clone(o)
	for i := range o {
		if o[i].Key == key {
			o[i].Value = value
			return o
		}
	}
	return append(o, member{key, value})
}
