package schema_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestAdaptSpellings has each draft's spelling of a keyword, its meaning in 2020-12, and which keywords are
// lost where.
func TestAdaptSpellings(t *testing.T) {
	const uri = "https://json-schema.org/draft/2020-12/schema"
	for name, test := range map[string]struct {
		in, want string
		lost     []string
	}{
		"exclusiveMinimum of draft 4": {`{"properties":{"n":{"minimum":1,"exclusiveMinimum":true,"description":"d"}}}`,
			`{"properties":{"n":{"exclusiveMinimum":1,"description":"d"}}}`, nil},
		"exclusiveMaximum of draft 4": {`{"maximum":2.5,"exclusiveMaximum":true}`, `{"exclusiveMaximum":2.5}`, nil},
		"not exclusive":               {`{"minimum":1,"exclusiveMinimum":false}`, `{"minimum":1}`, nil},
		"exclusive of nothing": {`{"type":"integer","exclusiveMinimum":true}`, `{"type":"integer"}`,
			[]string{"# exclusiveMinimum"}},
		"both numbers":          {`{"minimum":1,"exclusiveMinimum":0}`, `{"minimum":1,"exclusiveMinimum":0}`, nil},
		"items of draft 7":      {`{"items":[{"type":"string"},{}]}`, `{"prefixItems":[{"type":"string"},{}]}`, nil},
		"items and the rest":    {`{"items":[{}],"additionalItems":false}`, `{"prefixItems":[{}],"items":false}`, nil},
		"an empty list":         {`{"items":[],"minItems":1}`, `{"minItems":1}`, nil},
		"a count as a float":    {`{"minLength":1.0,"maxLength":1e2,"minItems":0.0}`, `{"minLength":1,"maxLength":100,"minItems":0}`, nil},
		"a count that is none":  {`{"minLength":1.5,"maxLength":3}`, `{"maxLength":3}`, []string{"# minLength"}},
		"a count below nothing": {`{"minItems":-1}`, `{}`, []string{"# minItems"}},
		"a count beyond all": {`{"maxProperties":9007199254740991}`, `{"maxProperties":2147483647}`,
			nil},
		"definitions": {`{"properties":{"a":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"string"}}}`,
			`{"properties":{"a":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"string"}}}`, nil},
		"definitions beside $defs": {`{"properties":{"a":{"$ref":"#/definitions/x"},"b":{"$ref":"#/$defs/x"}},` +
			`"definitions":{"x":{"type":"string"}},"$defs":{"x":{"minimum":1}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/x_"},"b":{"$ref":"#/$defs/x"}},"$defs":{"x":{"minimum":1},"x_":{"type":"string"}}}`, nil},
		"another property": {`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`,
			`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, nil},
		"an escaped pointer": {`{"properties":{"a/b c":{"type":"string"},"b":{"$ref":"#/properties/a~1b%20c"}}}`,
			`{"properties":{"a/b c":{"type":"string"},"b":{"$ref":"#/properties/a~1b%20c"}}}`, nil},
		"into a list that has moved": {`{"properties":{"a":{"items":[{"type":"string"}]},"b":{"$ref":"#/properties/a/items/0"}}}`,
			`{"properties":{"a":{"prefixItems":[{"type":"string"}]},"b":{"$ref":"#/properties/a/prefixItems/0"}}}`, nil},
		"out of the keywords": {`{"properties":{"a":{"$ref":"#/components/schemas/x"}},"components":{"schemas":{"x":{"items":[{}]}}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/schema0"}},"components":{"schemas":{"x":{"items":[{}]}}},` +
				`"$defs":{"schema0":{"prefixItems":[{}]}}}`, nil},
		"an anchor": {`{"properties":{"a":{"$ref":"#x"}},"$defs":{"y":{"$anchor":"x","type":"string"}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/y"}},"$defs":{"y":{"$anchor":"x","type":"string"}}}`, nil},
		"an anchor of draft 7": {`{"properties":{"a":{"$ref":"#x"}},"definitions":{"y":{"$id":"#x","type":"string"}}}`,
			`{"properties":{"a":{"$ref":"#/definitions/y"}},"definitions":{"y":{"type":"string"}}}`, nil},
		"an address": {`{"$id":"https://e.example/a.json","properties":{"a":{"$ref":"b.json"}},"$defs":{"y":{"$id":"b.json","type":"string"}}}`,
			`{"$id":"https://e.example/a.json","properties":{"a":{"$ref":"#/$defs/y"}},"$defs":{"y":{"type":"string"}}}`, nil},
		"within a part": {`{"$id":"https://e.example/a","$defs":{"y":{"$id":"b","properties":{"q":{"$ref":"#/$defs/z"}},"$defs":{"z":{}}}}}`,
			`{"$id":"https://e.example/a","$defs":{"y":{"properties":{"q":{"$ref":"#/$defs/y/$defs/z"}},"$defs":{"z":{}}}}}`, nil},
		"nowhere": {`{"properties":{"a":{"$ref":"#/$defs/x","description":"d"}}}`, `{"properties":{"a":{"description":"d"}}}`,
			[]string{"#/properties/a $ref"}},
		"away":         {`{"properties":{"a":{"$ref":"https://e.example/x"}}}`, `{"properties":{"a":{}}}`, []string{"#/properties/a $ref"}},
		"recursiveRef": {`{"properties":{"a":{"$recursiveRef":"#"}}}`, `{"properties":{"a":{"$ref":"#"}}}`, nil},
		"a lookahead": {`{"properties":{"a":{"pattern":"(?=x)","minLength":1}}}`, `{"properties":{"a":{"minLength":1}}}`,
			[]string{"#/properties/a pattern"}},
		"\\p{Emoji}": {`{"pattern":"\\p{Emoji}"}`, `{}`, []string{"# pattern"}},
		"other names": {`{"patternProperties":{"^(?!x)":{"type":"string"}},"additionalProperties":false}`,
			`{"patternProperties":{},"additionalProperties":{"anyOf":[false,{"type":"string"}]}}`, []string{"# patternProperties"}},
		"dependencies": {`{"dependencies":{"a":["b"],"c":{"minProperties":2}}}`,
			`{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"minProperties":2}}}`, nil},
		"any of draft 3": {`{"properties":{"a":{"type":"any"}}}`, `{"properties":{"a":{}}}`, nil},
		"a type twice":   {`{"type":["string","string","null"]}`, `{"type":["string","null"]}`, nil},
		"no type": {`{"properties":{"a":{"type":"strng","enum":["x"]}}}`, `{"properties":{"a":{"enum":["x"]}}}`,
			[]string{"#/properties/a type"}},
		"required inside": {`{"properties":{"a":{"type":"string","required":true}}}`, `{"properties":{"a":{"type":"string"}}}`,
			[]string{"#/properties/a required"}},
		"an odd name": {`{"required":["a",5,"b"]}`, `{"required":["a","b"]}`, []string{"# required"}},
		"no schema": {`{"properties":{"a":"string","b":{"type":"string"}}}`, `{"properties":{"a":{},"b":{"type":"string"}}}`,
			[]string{"#/properties/a "}},
		"an odd one of many": {`{"anyOf":[{"type":"string"},7]}`, `{"anyOf":[{"type":"string"},{}]}`,
			[]string{"#/anyOf/1 "}},
		"null": {`{"properties":{"a":{"enum":null,"default":null,"description":null}}}`,
			`{"properties":{"a":{"enum":null,"default":null}}}`, []string{"#/properties/a description"}},
		"a text as a bound": {`{"minimum":"1","maximum":2}`, `{"maximum":2}`, []string{"# minimum"}},
		"a description":     {`{"description":["a"],"title":"t"}`, `{"title":"t"}`, []string{"# description"}},
		"another case": {`{"properties":{"a":{"Required":["x"],"Type":5}}}`, `{"properties":{"a":{}}}`,
			[]string{"#/properties/a Required", "#/properties/a Type"}},
		"writeonly":           {`{"properties":{"a":{"writeonly":true}}}`, `{"properties":{"a":{"writeOnly":true}}}`, nil},
		"writeOnly as a text": {`{"properties":{"a":{"writeOnly":"yes"}}}`, `{"properties":{"a":{"writeOnly":true}}}`, nil},
		"a mark below what is lost": {`{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"allOf":{"x":{"writeOnly":true}}}},"$defs":{"x":{}}}`,
			`{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"writeOnly":true}},"$defs":{"x":{}}}`, []string{"#/properties/b allOf"}},
		"the draft": {`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`,
			`{"$schema":"` + uri + `","exclusiveMinimum":1}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			out, losses := schema.Adapt(json.RawMessage(test.in))
			assert.JSONEq(t, test.want, string(out))
			lost := make([]string, 0)
			for _, l := range losses {
				lost = append(lost, l.Place+" "+l.Keyword)
				assert.NotEmpty(t, l.Why)
			}
			assert.ElementsMatch(t, test.lost, lost)
			compile(t, string(out))
			if test.in == test.want {
				assert.Equal(t, test.in, string(out), "byte for byte")
			}
		})
	}
}

func TestAdaptKeepsOrder(t *testing.T) {
	out, _ := schema.Adapt(json.RawMessage(`{"required":["z"],"properties":{"z":{"minLength":1.0},` +
		`"a":{"pattern":"(?=x)","type":"string"}},"type":"object"}`))
	assert.Equal(t, `{"required":["z"],"properties":{"z":{"minLength":1},"a":{"type":"string"}},"type":"object"}`, string(out))
}

func TestParameters(t *testing.T) {
	for in, want := range map[string]string{
		``:                                `{"type":"object","properties":{}}`,
		`null`:                            `{"type":"object","properties":{}}`,
		`{}`:                              `{"type":"object"}`,
		`{"properties":{"a":{}}}`:         `{"type":"object","properties":{"a":{}}}`,
		`{"type":["object","null"]}`:      `{"type":"object"}`,
		`{"type":"object","x":1}`:         `{"type":"object","x":1}`,
		`{"type":"string","minLength":1}`: `{"type":"object","minLength":1}`,
		`"none"`:                          `{"type":"object","properties":{},"writeOnly":true}`,
		`{"$ref":"#/definitions/a","definitions":{"a":{"type":"object"}}}`: `{"type":"object","$ref":"#/definitions/a","definitions":{"a":{"type":"object"}}}`,
	} {
		out, _ := schema.Parameters(json.RawMessage(in))
		assert.JSONEq(t, want, string(out), in)
	}
}

// TestChecksOfConverted has values for the meaning of older spellings.
func TestChecksOfConverted(t *testing.T) {
	for name, test := range map[string]struct{ schema, good, bad string }{
		"exclusive":   {`{"properties":{"a":{"minimum":1,"exclusiveMinimum":true}}}`, `{"a":2}`, `{"a":1}`},
		"tuple":       {`{"properties":{"a":{"items":[{"type":"string"},{"type":"number"}]}}}`, `{"a":["x",1,true]}`, `{"a":["x","y"]}`},
		"tuple alone": {`{"properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}}}`, `{"a":["x"]}`, `{"a":["x","y"]}`},
		"definitions": {`{"properties":{"a":{"$ref":"#/definitions/x"}},"definitions":{"x":{"enum":[1]}}}`, `{"a":1}`, `{"a":2}`},
		"property":    {`{"properties":{"a":{"$ref":"#/properties/b"},"b":{"enum":[1]}}}`, `{"a":1}`, `{"a":2}`},
		"a tree": {`{"properties":{"a":{"$ref":"#/properties/l/items"},"l":{"items":{"properties":{"l":{"$ref":"#/properties/l"},"n":{"type":"integer"}}}}}}`,
			`{"a":{"l":[{"n":1}]}}`, `{"a":{"l":[{"n":"x"}]}}`},
		"names":       {`{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"xa":"b"}`, `{"a":"b"}`},
		"names hold":  {`{"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}`, `{"xa":"b"}`, `{"xa":1}`},
		"dependency":  {`{"dependencies":{"a":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`},
		"draft 6":     {`{"$schema":"http://json-schema.org/draft-06/schema#","properties":{"a":{"multipleOf":2}}}`, `{"a":2}`, `{"a":3}`},
		"unread name": {`{"patternProperties":{"^(?!x)":{"type":"string"}},"additionalProperties":false}`, `{"a":"b"}`, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := schema.Parameters(json.RawMessage(test.schema))
			s := compile(t, string(out))
			assert.Empty(t, s.Check(json.RawMessage(test.good)))
			assert.NotEmpty(t, s.Check(json.RawMessage(test.bad)))
		})
	}
}

// FuzzAdapt checks that every schema is converted to one that can be compiled, and that a second conversion
// changes nothing. No writeOnly mark gets lost.
func FuzzAdapt(f *testing.F) {
	for _, g := range generated(f) {
		f.Add(g.In)
	}
	for _, seed := range []string{`{"$ref":"#"}`, `{"items":[{"$ref":"#/items/0"}]}`, `{"$defs":{"a":{"$ref":"#/$defs"}}}`,
		`{"$dynamicRef":"#a"}`, `{"$id":"%"}`, `{"patternProperties":{"(":{"$ref":"#/patternProperties/("}}}`,
		`{"propertieſ":{}}`, `{"$anchor":"a","not":{"$anchor":"a"}}`, `{"if":{"$id":"#a"},"writeOnly":null}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		out, losses := schema.Parameters(json.RawMessage(raw))
		_, err := schema.Compile(out)
		require.NoError(t, err, "%s", out)
		again, none := schema.Parameters(out)
		assert.JSONEq(t, string(out), string(again))
		assert.Empty(t, none)
		if len(losses) == 0 && schema.SecretsOf(json.RawMessage(raw)) != nil && json.Valid([]byte(raw)) {
			assert.NotNil(t, schema.SecretsOf(out))
		}
	})
}

// TestAdaptRandom has schemas of all keywords with all kinds of values.
func TestAdaptRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(uint64(testneed.Seed(t)), 0))
	keywords := strings.Fields(`type properties required additionalProperties items enum const default minimum maximum
		exclusiveMinimum exclusiveMaximum minLength maxLength pattern minItems maxItems uniqueItems anyOf oneOf allOf not
		$ref $defs definitions description title examples $schema $id id $anchor format writeOnly readOnly prefixItems
		additionalItems contains minContains patternProperties propertyNames dependencies dependentSchemas
		dependentRequired if then else unevaluatedProperties unevaluatedItems multipleOf $dynamicRef $dynamicAnchor
		$recursiveRef $vocabulary contentSchema Type x`)
	var schemaOf, valueOf func(depth int) any
	valueOf = func(depth int) any {
		texts := []string{"a", "object", "array", "(?=x)", "(", "#", "#/$defs/a", "#/properties/a", "#a", "https://e.example/a",
			"#/allOf/0", "#/items/0", "#/x"}
		switch n := r.IntN(12); {
		case n < 4 && depth > 0:
			return schemaOf(depth - 1)
		case n < 6 && depth > 0:
			return []any{schemaOf(depth - 1), valueOf(depth - 1)}
		case n < 8 && depth > 0:
			return map[string]any{"a": schemaOf(depth - 1), "^(?!x)": valueOf(depth - 1)}
		case n < 9:
			return r.IntN(2) == 0
		case n < 10:
			return []any{nil, -1, 1.5, 3, 1e300}[r.IntN(5)]
		}
		return texts[r.IntN(len(texts))]
	}
	schemaOf = func(depth int) any {
		out := make(map[string]any)
		for range r.IntN(4) {
			out[keywords[r.IntN(len(keywords))]] = valueOf(depth)
			if _, given := out["writeOnly"]; given {
				out["writeOnly"] = true
			}
		}
		return out
	}
	for range 2_000 {
		raw, err := json.Marshal(schemaOf(3))
		require.NoError(t, err)
		out, losses := schema.Parameters(raw)
		s, err := schema.Compile(out)
		require.NoError(t, err, "%s\n%s", raw, out)
		if schema.SecretsOf(raw) != nil {
			require.NotNil(t, schema.SecretsOf(out), "%s\n%s\n%v", raw, out, losses)
		}
		if len(losses) > 0 {
			require.NotEqual(t, schema.Loss{Place: "#", Why: "cannot be read"}, losses[len(losses)-1], "%s", raw)
		}
		again, none := schema.Parameters(out)
		require.Empty(t, none, "%s\n%s", raw, out)
		require.JSONEq(t, string(out), string(again))
		s.Check(json.RawMessage(`{"a":{"a":["a",1]},"x":null}`))
	}
}

// TestEndlessReferences has schemas that never end for one value: checking with them would end the program.
func TestEndlessReferences(t *testing.T) {
	for _, in := range []string{`{"if":{"$ref":"#"}}`, `{"dependentSchemas":{"a":{"$ref":"#"}}}`, `{"multipleOf":2,"$ref":"#"}`,
		`{"then":{"$ref":"#/$defs/a"},"if":true,"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]},"b":{"not":{"$ref":"#/$defs/a"}}}}`} {
		_, err := schema.Compile(json.RawMessage(in))
		assert.ErrorContains(t, err, "leads to itself", in)
		out, losses := schema.Parameters(json.RawMessage(in))
		require.NotEmpty(t, losses)
		compile(t, string(out)).Check(json.RawMessage(`{"a":1}`))
	}
	compile(t, `{"if":{"properties":{"a":{"$ref":"#"}}}}`).Check(json.RawMessage(`{"a":{"a":1}}`))
}
