package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/text/truncate"
)

// protected is the schema of unknown parameters, which may all be secret.
const protected = `{"type":"object","properties":{},"writeOnly":true}`

// Unseen stands for parameters that cannot be shown. All count as secret.
const Unseen = `{"type":"object","properties":{},"writeOnly":true,` +
	`"$comment":"The tool's own schema is too long, or holds characters that cannot be seen."}`

// Parameters is Adapt for the parameters of a tool: the root gets the type object if it has none.
func Parameters(raw json.RawMessage) (json.RawMessage, []Loss) {
	value, ok := parseTree(raw)
	if ok && (value == nil || value == true) || len(raw) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	root, ok := value.(*object)
	if !ok {
		return json.RawMessage(protected), []Loss{{Place: "#", Why: "is not a schema of an object"}}
	}
	if string(raw) == Unseen {
		return raw, []Loss{{Place: "#", Why: "is too long, or holds characters that cannot be seen"}}
	}
	a := newAdapter(root)
	if kind, given := root.get("type"); kind != "object" {
		kinds, _ := kind.([]any)
		if given && kind != nil && !slices.Contains(kinds, any("object")) {
			a.lose("", "type", "is not the type of an object, which parameters are", false)
		}
		a.protect(root, kind)
		root.remove("type")
		root.members = slices.Insert(root.members, 0, member{"type", "object"})
		a.changed = true
	}
	return a.adapt(raw)
}

// Adapt converts a schema of any draft to one of 2020-12 that Compile accepts. Older spellings are replaced. A
// keyword that cannot be understood is removed and reported; if a writeOnly mark was below it, the schema that
// it was part of is marked. A schema that needs none of this is returned byte for byte.
func Adapt(raw json.RawMessage) (json.RawMessage, []Loss) {
	value, _ := parseTree(raw)
	root, ok := value.(*object)
	if !ok {
		return raw, nil
	}
	return newAdapter(root).adapt(raw)
}

type adapter struct {
	root      *object
	targets   map[*object]any     // targets of references, in the schema as written
	places    map[*object]string  // present JSON pointers of schemas
	copies    map[*object]*object // of schemas that were not below a keyword
	referring []*object           // schemas with a $ref
	secrets   bool                // the schema has a writeOnly
	judging   bool                // each keyword is tried alone
	known     bool                // all others are left out
	changed   bool
	losses    []Loss
}

func newAdapter(root *object) *adapter {
	a := &adapter{root: root, targets: make(map[*object]any), copies: make(map[*object]*object)}
	refs := newReferences(root)
	for o := range refs.within {
		for _, key := range []string{"$ref", "$recursiveRef"} {
			value, _ := o.get(key)
			if ref, ok := value.(string); ok {
				if target, found := refs.target(o, ref); found {
					a.targets[o] = target
				}
			}
		}
		a.secrets = a.secrets || marked(o)
	}
	return a
}

// marked reports whether a schema itself is writeOnly. Any value but false counts.
func marked(o *object) bool {
	return slices.ContainsFunc(o.members, func(m member) bool {
		_, isSchema := m.value.(*object) // of a property of that name
		return strings.EqualFold(m.key, "writeOnly") && m.value != false && !isSchema
	})
}

func (a *adapter) adapt(raw json.RawMessage) (json.RawMessage, []Loss) {
	for _, mode := range []struct{ judging, known bool }{{}, {true, false}, {true, true}} {
		a.judging, a.known = mode.judging, mode.known
		a.places, a.referring = make(map[*object]string), nil
		a.schema(a.root, "")
		a.refer()
		if a.judging {
			a.end()
		}
		draft, _ := a.root.get("$schema")
		if _, isText := draft.(string); isText && a.changed {
			a.root.set("$schema", "https://json-schema.org/draft/2020-12/schema")
		}
		if a.changed {
			raw = mustMarshal(a.root)
		}
		if _, err := Compile(raw); err == nil {
			return raw, a.losses
		}
	}
	return json.RawMessage(protected), append(a.losses, Loss{Place: "#", Why: "cannot be read"})
}

func (a *adapter) lose(at, keyword, why string, valid bool) {
	a.changed = true
	a.losses = append(a.losses, Loss{"#" + at, keyword, why, valid})
}

// drop removes a keyword. What it may have protected is protected as a whole.
func (a *adapter) drop(o *object, at, keyword, why string, valid bool) {
	value, _ := o.get(keyword)
	o.remove(keyword)
	a.lose(at, keyword, why, valid)
	a.protect(o, value)
}

// protect marks what is left without a value that may have had a mark.
func (a *adapter) protect(o *object, without any) {
	if a.secrets && a.hides(without) {
		o.set("writeOnly", true)
	}
}

// hides reports whether there may be a writeOnly below.
func (a *adapter) hides(value any) bool {
	switch value := value.(type) {
	case []any:
		return slices.ContainsFunc(value, a.hides)
	case *object:
		return marked(value) || value.index("$ref") >= 0 ||
			slices.ContainsFunc(value.members, func(m member) bool { return a.hides(m.value) })
	}
	return false
}

// How keywords contain schemas.
const (
	oneSchema = iota + 1
	listOfSchemas
	namedSchemas
)

var holders = map[string]int{
	"additionalProperties": oneSchema, "items": oneSchema, "not": oneSchema, "if": oneSchema, "then": oneSchema,
	"else": oneSchema, "contains": oneSchema, "propertyNames": oneSchema, "unevaluatedProperties": oneSchema,
	"unevaluatedItems": oneSchema, "contentSchema": oneSchema,
	"allOf": listOfSchemas, "anyOf": listOfSchemas, "oneOf": listOfSchemas, "prefixItems": listOfSchemas,
	"properties": namedSchemas, "patternProperties": namedSchemas, "$defs": namedSchemas,
	"definitions": namedSchemas, "dependentSchemas": namedSchemas,
}

// schema adapts one schema at a JSON pointer.
func (a *adapter) schema(value any, at string) any {
	if _, isBool := value.(bool); isBool {
		return value
	}
	o, ok := value.(*object)
	if !ok {
		a.lose(at, "", "is not a schema, so any value is accepted there", false)
		o = new(object)
		a.protect(o, value)
		return o
	}
	a.places[o] = at
	a.names(o, at)
	a.spelling(o, at)
	for _, m := range slices.Clone(o.members) {
		if a.known && !known[m.key] {
			a.drop(o, at, m.key, "cannot be read beside the rest", false)
		} else {
			a.inner(o, m, at)
		}
	}
	if a.judging {
		for _, m := range slices.Clone(o.members) {
			a.judge(o, m, at)
		}
	}
	if slices.ContainsFunc(refKeywords, func(key string) bool { return o.index(key) >= 0 }) {
		a.referring = append(a.referring, o)
	}
	if ref, given := o.get("$ref"); given {
		if a.targets[o] == nil {
			text, _ := ref.(string)
			a.drop(o, at, "$ref", "leads nowhere within the schema: "+truncate.Shorten(text, 80),
				text != "" && text[0] != '#')
		}
	}
	return o
}

// inner adapts the schemas of a keyword.
func (a *adapter) inner(o *object, m member, at string) {
	at, here := at+"/"+escape(m.key), at
	switch holders[m.key] {
	case oneSchema:
		o.set(m.key, a.schema(m.value, at))
	case listOfSchemas:
		schemas, ok := m.value.([]any)
		if !ok {
			a.drop(o, here, m.key, "is not a list of schemas", false)
		}
		for i := range schemas {
			schemas[i] = a.schema(schemas[i], at+"/"+strconv.Itoa(i))
		}
	case namedSchemas:
		schemas, ok := m.value.(*object)
		if !ok {
			a.drop(o, here, m.key, "is not an object of schemas", false)
			return
		}
		for i := range schemas.members {
			name := &schemas.members[i]
			name.value = a.schema(name.value, at+"/"+escape(name.key))
		}
	}
}
