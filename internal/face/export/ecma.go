package export

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/host/tool"
)

// ECMA returns a schema whose patterns every client can compile: RE2's own are rewritten, or left out
// if impossible; parameters are still checked with the original. A schema without such patterns is
// returned byte for byte.
func ECMA(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(`"pattern`)) {
		return raw
	}
	value, err := decode(raw)
	if err != nil {
		return raw
	}
	var p patterns
	value = p.schema(value, false)
	if !p.changed {
		return raw
	}
	return tool.MustMarshal(value)
}

// patterns rewrites a schema's patterns.
type patterns struct{ changed bool }

// namedSchemas are the keywords with schemas by name.
var namedSchemas = map[string]bool{
	"properties": true, "patternProperties": true, "$defs": true, "definitions": true, "dependentSchemas": true,
}

// schema rewrites a schema, or schemas by name.
func (p *patterns) schema(value any, names bool) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = p.schema(value[i], false)
		}
	case object:
		out := make(object, 0, len(value))
		for _, m := range value {
			if names {
				out = append(out, member{m.Key, p.schema(m.Value, false)})
				continue
			}
			out = append(out, p.keyword(m)...)
		}
		return out
	}
	return value
}

// keyword rewrites a keyword; nil removes it.
func (p *patterns) keyword(m member) object {
	switch m.Key {
	case "const", "enum", "default", "examples":
		return object{m}
	case "pattern":
		text, isText := m.Value.(string)
		if !isText {
			return object{m}
		}
		ecma, ok := ecmaPattern(text)
		p.changed = p.changed || ecma != text
		if !ok {
			return nil
		}
		return object{{m.Key, ecma}}
	case "patternProperties":
		return p.properties(m)
	}
	return object{{m.Key, p.schema(m.Value, namedSchemas[m.Key])}}
}

// properties rewrites patternProperties.
func (p *patterns) properties(m member) object {
	in, _ := m.Value.(object)
	out := object{}
	for _, property := range in {
		ecma, ok := ecmaPattern(property.Key)
		p.changed = p.changed || ecma != property.Key
		if !ok { // then any name is allowed, lest a valid one be refused
			ecma = ""
		}
		out = append(out, member{ecma, p.schema(property.Value, false)})
	}
	return object{{m.Key, out}}
}
