package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
)

// generated are schemas as libraries write them. cut is the text that is lost,
// "" for none; swap pairs what is spelled otherwise in 2020-12.
var generated = []struct {
	name, in, cut string
	swap          []string
}{
	{name: "zod-to-json-schema: an object", in: `{"type":"object","properties":{"path":{"type":"string","minLength":1,"description":"A file."},"limit":{"type":"integer","exclusiveMinimum":0,"maximum":9007199254740991,"default":50}},"required":["path"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`},
	{name: "zod-to-json-schema: email", in: `{"type":"object","properties":{"mail":{"type":"string","format":"email","pattern":"^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"},"kind":{"type":"string","enum":["a","b"]}},"required":["mail"],"additionalProperties":false}`,
		cut: `,"pattern":"^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"`},
	{name: "zod-to-json-schema: the same schema twice", in: `{"type":"object","properties":{"from":{"type":"object","properties":{"line":{"type":"number"},"column":{"type":"number"}},"required":["line","column"],"additionalProperties":false},"to":{"$ref":"#/properties/from"}},"required":["from","to"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`},
	{name: "zod-to-json-schema: the same item", in: `{"type":"object","properties":{"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"more":{"type":"array","items":{"$ref":"#/properties/edits/items"}}},"required":["old"]}}},"required":["edits"]}`},
	{name: "zod-to-json-schema: a named root", in: `{"$ref":"#/definitions/Args","definitions":{"Args":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"],"additionalProperties":false}},"$schema":"http://json-schema.org/draft-07/schema#"}`,
		swap: []string{`{"$ref"`, `{"type":"object","$ref"`, `http://json-schema.org/draft-07/schema#`, `https://json-schema.org/draft/2020-12/schema`}},
	{name: "zod-to-json-schema: a tuple", in: `{"type":"object","properties":{"point":{"type":"array","minItems":2,"maxItems":2,"items":[{"type":"number"},{"type":"number"}]}},"required":["point"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		swap: []string{`"items":[`, `"prefixItems":[`, `http://json-schema.org/draft-07/schema#`, `https://json-schema.org/draft/2020-12/schema`}},
	{name: "zod-to-json-schema: a tuple with a rest", in: `{"type":"object","properties":{"argv":{"type":"array","minItems":1,"items":[{"type":"string"}],"additionalItems":{"type":"string","writeOnly":true}}}}`,
		swap: []string{`"items":[`, `"prefixItems":[`, `additionalItems`, `items`}},
	{name: "zod-to-json-schema: a positive number for draft 4", in: `{"type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`,
		swap: []string{`"minimum":0,"exclusiveMinimum":true`, `"exclusiveMinimum":0`}},
	{name: "zod-to-json-schema: a discriminated union", in: `{"type":"object","properties":{"op":{"anyOf":[{"type":"object","properties":{"kind":{"type":"string","const":"add"},"text":{"type":"string"}},"required":["kind","text"],"additionalProperties":false},{"type":"object","properties":{"kind":{"type":"string","const":"drop"}},"required":["kind"],"additionalProperties":false}]}},"required":["op"],"additionalProperties":false}`},
	{name: "zod-to-json-schema: an intersection", in: `{"type":"object","allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":["number","null"]}},"required":["b"]}],"unevaluatedProperties":false}`},
	{name: "zod-to-json-schema: a record", in: `{"type":"object","properties":{"env":{"type":"object","additionalProperties":{"type":"string"},"propertyNames":{"minLength":1}}}}`},
	{name: "zod-to-json-schema: emoji and dates", in: `{"type":"object","properties":{"mood":{"type":"string","pattern":"^(\\p{Extended_Pictographic}|\\p{Emoji_Component})+$"},"at":{"type":"string","format":"date-time"}}}`,
		cut: `,"pattern":"^(\\p{Extended_Pictographic}|\\p{Emoji_Component})+$"`},
	{name: "zod 4: toJSONSchema", in: `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"id":{"type":"string","format":"uuid","pattern":"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000)$"},"at":{"type":"array","prefixItems":[{"type":"number"}],"items":{"type":"string"}},"n":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}},"required":["id"],"additionalProperties":false}`},
	{name: "zod 4: mail with lookaheads", in: `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}},"mail":{"type":"string","format":"email","pattern":"^(?!\\.)(?!.*\\.\\.)[a-z]+@x$"},"tree":{"$ref":"#/$defs/__schema0"}},"$defs":{"__schema0":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/__schema0"}}}}}}`,
		cut: `,"pattern":"^(?!\\.)(?!.*\\.\\.)[a-z]+@x$"`},
	{name: "pydantic 2: a model", in: `{"$defs":{"Level":{"enum":["low","high"],"title":"Level","type":"string"},"Item":{"properties":{"name":{"title":"Name","type":"string"},"price":{"exclusiveMinimum":0,"title":"Price","type":"number"}},"required":["name","price"],"title":"Item","type":"object"}},"properties":{"items":{"items":{"$ref":"#/$defs/Item"},"title":"Items","type":"array"},"level":{"allOf":[{"$ref":"#/$defs/Level"}],"default":"low"},"note":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"Note"}},"required":["items"],"title":"Order","type":"object"}`},
	{name: "pydantic 2: SecretStr", in: `{"properties":{"user":{"title":"User","type":"string"},"password":{"format":"password","title":"Password","type":"string","writeOnly":true}},"required":["user","password"],"title":"Login","type":"object"}`},
	{name: "pydantic 2: a tuple", in: `{"properties":{"box":{"maxItems":2,"minItems":2,"prefixItems":[{"type":"integer"},{"type":"integer"}],"title":"Box","type":"array"}},"required":["box"],"title":"Args","type":"object"}`},
	{name: "pydantic 2: a discriminator", in: `{"$defs":{"Cat":{"properties":{"kind":{"const":"cat","title":"Kind","type":"string"}},"required":["kind"],"title":"Cat","type":"object"},"Dog":{"properties":{"kind":{"const":"dog","title":"Kind","type":"string"}},"required":["kind"],"title":"Dog","type":"object"}},"properties":{"pet":{"discriminator":{"mapping":{"cat":"#/$defs/Cat","dog":"#/$defs/Dog"},"propertyName":"kind"},"oneOf":[{"$ref":"#/$defs/Cat"},{"$ref":"#/$defs/Dog"}],"title":"Pet"}},"required":["pet"],"title":"M","type":"object"}`},
	{name: "pydantic 1: a model", in: `{"title":"Order","type":"object","properties":{"point":{"title":"Point","type":"array","minItems":2,"maxItems":2,"items":[{"type":"number"},{"type":"number"}]},"owner":{"$ref":"#/definitions/User"},"key":{"title":"Key","type":"string","writeOnly":true,"format":"password"}},"required":["owner"],"definitions":{"User":{"title":"User","type":"object","properties":{"age":{"title":"Age","exclusiveMinimum":0,"type":"integer"}}}}}`,
		swap: []string{`"items":[`, `"prefixItems":[`}},
	{name: "pydantic: a constr with a look behind", in: `{"properties":{"name":{"maxLength":20,"pattern":"^\\w+(?<!_)$","title":"Name","type":"string"}},"required":["name"],"title":"A","type":"object"}`,
		cut: `,"pattern":"^\\w+(?<!_)$"`},
	{name: "FastMCP: arguments without a title", in: `{"properties":{"query":{"type":"string"},"options":{"additionalProperties":true,"type":"object"},"ids":{"items":{"anyOf":[{"type":"integer"},{"type":"string"}]},"type":"array","uniqueItems":true}},"required":["query"],"type":"object"}`},
	{name: "typebox: an object", in: `{"type":"object","required":["x"],"properties":{"x":{"type":"number","multipleOf":0.5},"y":{"anyOf":[{"const":"a","type":"string"},{"const":"b","type":"string"}]}}}`},
	{name: "typebox: a record", in: `{"type":"object","required":["headers"],"properties":{"headers":{"type":"object","patternProperties":{"^(.*)$":{"type":"string"}}}}}`},
	{name: "typebox: a strict record", in: `{"type":"object","properties":{"h":{"type":"object","additionalProperties":false,"patternProperties":{"^x-.*$":{"type":"string","writeOnly":true}}}}}`},
	{name: "typebox: a tuple", in: `{"type":"object","properties":{"t":{"type":"array","items":[{"type":"string"},{"type":"boolean"}],"additionalItems":false,"minItems":2,"maxItems":2}}}`,
		swap: []string{`"items":[`, `"prefixItems":[`, `additionalItems`, `items`}},
	{name: "typebox: a recursive type", in: `{"type":"object","properties":{"node":{"$id":"T0","type":"object","required":["nodes"],"properties":{"nodes":{"type":"array","items":{"$ref":"T0"}}}}}}`,
		swap: []string{`"$id":"T0",`, ``, `"$ref":"T0"`, `"$ref":"#/properties/node"`}},
	{name: "schemars 0.8", in: `{"$schema":"http://json-schema.org/draft-07/schema#","title":"Args","type":"object","required":["count","mode"],"properties":{"count":{"type":"integer","format":"uint32","minimum":0.0},"mode":{"$ref":"#/definitions/Mode"},"name":{"type":["string","null"]},"pair":{"default":null,"type":["array","null"],"items":[{"type":"string"},{"type":"integer","format":"int32"}],"maxItems":2,"minItems":2}},"definitions":{"Mode":{"oneOf":[{"description":"Fast.","type":"string","enum":["fast"]},{"type":"object","required":["slow"],"properties":{"slow":{"type":"integer","format":"uint8","minimum":0.0}},"additionalProperties":false}]}}}`,
		swap: []string{`"items":[`, `"prefixItems":[`, `http://json-schema.org/draft-07/schema#`, `https://json-schema.org/draft/2020-12/schema`}},
	{name: "schemars 1", in: `{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Args","type":"object","properties":{"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer","format":"int32"}],"minItems":2,"maxItems":2},"any":true},"required":["pair"],"$defs":{"X":{"type":"string"}}}`},
	{name: "schemars: a map and a regular expression", in: `{"type":"object","properties":{"labels":{"type":"object","additionalProperties":{"type":"string"},"maxProperties":8.0},"id":{"type":"string","maxLength":64.0,"minLength":1.0,"pattern":"^[a-z]+$"}}}`,
		swap: []string{`8.0`, `8`, `64.0`, `64`, `1.0`, `1`}},
	{name: "OpenAPI 3.0", in: `{"type":"object","properties":{"size":{"type":"integer","minimum":1,"exclusiveMinimum":true,"nullable":true,"example":5},"secret":{"type":"string","writeOnly":true,"x-order":2}}}`,
		swap: []string{`"minimum":1,"exclusiveMinimum":true`, `"exclusiveMinimum":1`}},
	{name: "a server's own hand", in: `{"properties":{"q":{"type":"string","required":true,"description":"What."},"pin":{"type":"string","writeOnly":true}}}`,
		cut: `,"required":true`, swap: []string{`{"properties"`, `{"type":"object","properties"`}},
}

// TestGeneratedSchemas has nothing but what cannot be understood be lost, down to
// the order.
func TestGeneratedSchemas(t *testing.T) {
	for _, g := range generated {
		t.Run(g.name, func(t *testing.T) {
			want := g.in
			if g.cut != "" {
				require.Contains(t, want, g.cut)
				want = strings.Replace(want, g.cut, "", 1)
			}
			want = strings.NewReplacer(g.swap...).Replace(want)
			out, losses := schema.Parameters(json.RawMessage(g.in))
			assert.Equal(t, want, string(out))
			assert.Len(t, losses, strings.Count(g.cut, `":`))
			compile(t, string(out))
		})
	}
}
