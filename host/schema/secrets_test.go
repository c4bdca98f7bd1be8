package schema_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
)

// hidden returns a value without what a schema marks.
func hidden(t *testing.T, raw, value string) string {
	t.Helper()
	secrets := schema.SecretsOf(json.RawMessage(raw))
	if secrets == nil {
		return value
	}
	clean, err := secrets.Hide(json.RawMessage(value), func(any) any { return "[redacted]" })
	require.NoError(t, err)
	return string(clean)
}

// TestWriteOnlyAtEveryDepth has W for a schema that marks a text, S for a secret one, and R for its
// replacement. Without the mark the value is shown.
func TestWriteOnlyAtEveryDepth(t *testing.T) {
	for name, test := range map[string]struct{ schema, value, want string }{
		"top":     {`{"properties":{"pin":W,"a":{}}}`, `{"pin":S,"a":1}`, `{"pin":R,"a":1}`},
		"nested":  {`{"properties":{"o":{"properties":{"pin":W,"n":{}}}}}`, `{"o":{"pin":S,"n":"n"}}`, `{"o":{"pin":R,"n":"n"}}`},
		"items":   {`{"properties":{"l":{"items":{"properties":{"pin":W}}}}}`, `{"l":[{"pin":S},{"pin":"2"}]}`, `{"l":[{"pin":R},{"pin":R}]}`},
		"tuple":   {`{"properties":{"l":{"prefixItems":[{},W]}}}`, `{"l":["a",S]}`, `{"l":["a",R]}`},
		"draft 7": {`{"properties":{"l":{"items":[{},W],"additionalItems":{}}}}`, `{"l":["a",S]}`, `{"l":["a",R]}`},
		"the rest": {`{"properties":{"l":{"prefixItems":[{}],"items":W}}}`, `{"l":["a",S]}`,
			`{"l":["a",R]}`},
		"additional":  {`{"properties":{"a":{}},"additionalProperties":W}`, `{"a":1,"b":S}`, `{"a":1,"b":R}`},
		"pattern":     {`{"patternProperties":{"^x-":W,"^y-":{}}}`, `{"x-a":S,"y-a":1}`, `{"x-a":R,"y-a":1}`},
		"odd pattern": {`{"patternProperties":{"^(?=x)":W}}`, `{"x":S}`, `{"x":R}`},
		"unevaluated": {`{"unevaluatedProperties":W}`, `{"x":S}`, `{"x":R}`},
		"$defs":       {`{"properties":{"pin":{"$ref":"#/$defs/s"}},"$defs":{"s":W}}`, `{"pin":S}`, `{"pin":R}`},
		"definitions": {`{"properties":{"pin":{"$ref":"#/definitions/s"}},"definitions":{"s":W}}`, `{"pin":S}`, `{"pin":R}`},
		"anchor":      {`{"properties":{"pin":{"$ref":"#s"}},"$defs":{"s":{"$anchor":"s","allOf":[W]}}}`, `{"pin":S}`, `{"pin":R}`},
		"other":       {`{"properties":{"pin":W,"b":{"$ref":"#/properties/pin"}}}`, `{"b":S}`, `{"b":R}`},
		"two refs":    {`{"properties":{"pin":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":W}}`, `{"pin":S}`, `{"pin":R}`},
		"a tree":      {`{"properties":{"pin":W,"n":{"$ref":"#"}}}`, `{"n":{"n":{"pin":S}}}`, `{"n":{"n":{"pin":R}}}`},
		"allOf":       {`{"allOf":[{"properties":{"pin":W}},{"properties":{"a":{}}}]}`, `{"pin":S,"a":1}`, `{"pin":R,"a":1}`},
		"anyOf":       {`{"properties":{"pin":{"anyOf":[{"type":"null"},W]}}}`, `{"pin":S}`, `{"pin":R}`},
		"oneOf": {`{"oneOf":[{"properties":{"kind":{},"pin":W}},{"properties":{"kind":{},"b":{}}}]}`,
			`{"kind":"k","pin":S}`, `{"kind":"k","pin":R}`},
		"then":          {`{"if":{"properties":{"k":{"const":1}}},"then":{"properties":{"pin":W}}}`, `{"k":1,"pin":S}`, `{"k":1,"pin":R}`},
		"dependent":     {`{"dependentSchemas":{"k":{"properties":{"k":{},"pin":W}}}}`, `{"k":1,"pin":S}`, `{"k":1,"pin":R}`},
		"an object":     {`{"properties":{"o":{"properties":{"pin":W}}}}`, `{"o":S}`, `{"o":R}`},
		"no list":       {`{"properties":{"l":{"items":W}}}`, `{"l":{"a":S}}`, `{"l":R}`},
		"no object":     {`{"properties":{"o":{"properties":{"pin":W}}}}`, `{"o":[S]}`, `{"o":R}`},
		"root":          {`{"properties":{"pin":W}}`, `["S3CRET"]`, `R`},
		"root text":     {`{"properties":{"pin":W}}`, `S`, `R`},
		"another name":  {`{"properties":{"pin":W,"a":{}}}`, `{"PIN":S,"a":"a"}`, `{"PIN":R,"a":"a"}`},
		"JSON in text":  {`{"properties":{"o":{"contentSchema":{"properties":{"pin":W}}}}}`, `{"o":"{\"pin\":1}"}`, `{"o":R}`},
		"null is shown": {`{"properties":{"o":{"properties":{"pin":W}}}}`, `{"o":null}`, `{"o":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			fill := func(text, is string) string {
				return regexp.MustCompile(`\b[WSR]\b`).ReplaceAllStringFunc(text, func(letter string) string {
					return map[string]string{"W": `{"type":"string"` + is + `}`, "S": `"S3CRET"`, "R": `"[redacted]"`}[letter]
				})
			}
			value := fill(test.value, "")
			assert.JSONEq(t, fill(test.want, ""), hidden(t, fill(test.schema, `,"writeOnly":true`), value))
			assert.JSONEq(t, value, hidden(t, fill(test.schema, ""), value), "the control")
		})
	}
}

func TestWriteOnlyInDoubt(t *testing.T) {
	for name, raw := range map[string]string{
		"no schema":          `{`,
		"a reference away":   `{"properties":{"b":{"$ref":"https://example.com/x"},"pin":{"writeOnly":true}}}`,
		"a mark in a text":   `{"properties":{"b":{"writeOnly":"true"}}}`,
		"a mark in any case": `{"properties":{"b":{"writeonly":true}}}`,
		"the root":           `{"writeOnly":true}`,
	} {
		assert.NotContains(t, hidden(t, raw, `{"b":"S3CRET"}`), "S3CRET", name)
	}
	secrets := schema.SecretsOf(json.RawMessage(`{"properties":{"pin":{"writeOnly":true}}}`))
	for _, value := range []string{`{"pin":`, `{"pin":"S3CRET","pin":null}`, ``} {
		_, err := secrets.Hide(json.RawMessage(value), func(any) any { return nil })
		assert.Error(t, err, value)
	}
	assert.Nil(t, schema.SecretsOf(json.RawMessage(`{"properties":{"writeOnly":{"type":"boolean"}}}`)), "a property of that name")
	assert.Nil(t, schema.SecretsOf(json.RawMessage(`{"properties":{"a":{"writeOnly":false}}}`)))
	assert.Nil(t, schema.SecretsOf(nil))
}
