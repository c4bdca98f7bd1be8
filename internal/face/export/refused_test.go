package export_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/export"
)

// parameters returns a tool's parameters in a form.
func parameters(t *testing.T, format export.Format, raw string) string {
	t.Helper()
	out, err := export.Definitions(format,
		[]*tool.Definition{{Name: "t", Description: "T.", Parameters: json.RawMessage(raw)}}, nil)
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal(out, &v))
	for _, step := range map[export.Format][]any{
		export.OpenAI: {0, "function", "parameters"}, export.Ollama: {0, "function", "parameters"},
		export.Anthropic: {0, "input_schema"}, export.Gemini: {"functionDeclarations", 0, "parameters"},
		export.MCP: {"tools", 0, "inputSchema"},
	}[format] {
		switch step := step.(type) {
		case int:
			v = v.([]any)[step]
		case string:
			v = v.(map[string]any)[step]
		}
	}
	return string(tool.MustMarshal(v))
}

// Each API gets what it takes, and no more is lost.
func TestEachAPIIsGivenWhatItTakes(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want map[export.Format]string
	}{
		"an array without items, at every depth": {`{"type":"object","properties":{"a":{"type":"array"},"b":{"type":["array","null"]},
			"c":{"type":["string","array"],"items":{"type":"integer"}},"d":{"type":"array","items":{"type":"array"}}}}`,
			map[export.Format]string{
				export.OpenAI: `{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"type":"array","items":{}},
					"c":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]},
					"d":{"type":"array","items":{"type":"array","items":{}}}}}`,
				export.Gemini: `{"type":"object","properties":{"a":{"type":"array","items":{}},
					"b":{"type":"array","items":{},"nullable":true},
					"c":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]},
					"d":{"type":"array","items":{"type":"array","items":{}}}}}`,
			}},
		"an enum of numbers": {`{"type":"object","properties":{"n":{"type":"integer","enum":[0,1,3],"description":"Phases."},
			"k":{"const":2},"s":{"enum":["a",""]},"o":{"enum":["a",null]}}}`,
			map[export.Format]string{
				export.Gemini: `{"type":"object","properties":{"n":{"type":"integer","description":"Phases. One of: 0, 1, 3."},
					"k":{"description":"One of: 2."},"s":{"enum":["a"],"type":"string"},
					"o":{"enum":["a"],"type":"string","nullable":true}}}`,
				export.OpenAI: `{"type":"object","properties":{"n":{"type":"integer","enum":[0,1,3],"description":"Phases."},
					"k":{"const":2},"s":{"enum":["a",""]},"o":{"enum":["a",null]}}}`,
			}},
		"alternatives at the root": {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],
			"anyOf":[{"required":["a"]},{"properties":{"b":{"type":"integer"}},"required":["b"]}],
			"oneOf":[{"allOf":[{"properties":{"c":{"type":"boolean"}}}]}],
			"allOf":[{"properties":{"d":{"type":"string"}},"required":["d"]}],"not":{"required":["e"]}}`,
			map[export.Format]string{
				export.OpenAI: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"},
					"d":{"type":"string"}},"required":["a","d"]}`,
				export.Anthropic: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"},
					"d":{"type":"string"}},"required":["a","d"],"not":{"required":["e"]}}`,
				export.Gemini: `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"},
					"d":{"type":"string"}},"required":["a","d"]}`,
			}},
		"alternatives below the root": {`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}`,
			map[export.Format]string{
				export.OpenAI: `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}`,
				export.Gemini: `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
			}},
		"names of properties": {`{"type":"object","properties":{"$filter":{"type":"string"},"x.y-z_1":{"type":"object",
			"properties":{"$deep":{"type":"string"}}}},"required":["$filter","x.y-z_1"]}`,
			map[export.Format]string{
				export.Anthropic: `{"type":"object","properties":{"x.y-z_1":{"type":"object",
					"properties":{"$deep":{"type":"string"}}}},"required":["x.y-z_1"]}`,
				export.OpenAI: `{"type":"object","properties":{"$filter":{"type":"string"},"x.y-z_1":{"type":"object",
					"properties":{"$deep":{"type":"string"}}}},"required":["$filter","x.y-z_1"]}`,
			}},
		"a required property that is none": {`{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`,
			map[export.Format]string{
				export.Gemini: `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
				export.OpenAI: `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`,
			}},
		"formats, and what may be null": {`{"type":"object","properties":{"u":{"type":"string","format":"uri"},
			"t":{"type":"string","format":"date-time"},"n":{"type":"integer","format":"int32"},
			"o":{"anyOf":[{"type":"string","format":"uri"},{"type":"null"}],"default":null,"description":"O."},
			"l":{"allOf":[{"$ref":"#/$defs/L"}],"default":"low"}},"$defs":{"L":{"enum":["low"],"type":"string"}}}`,
			map[export.Format]string{
				export.Gemini: `{"type":"object","properties":{"u":{"type":"string"},"t":{"type":"string","format":"date-time"},
					"n":{"type":"integer","format":"int32"},"o":{"type":"string","default":null,"description":"O.","nullable":true},
					"l":{"enum":["low"],"type":"string","default":"low"}}}`,
			}},
	} {
		for format, want := range c.want {
			assert.JSONEq(t, want, parameters(t, format, c.in), "%s, %s", name, format)
		}
		assert.JSONEq(t, parameters(t, export.MCP, c.in), parameters(t, export.Ollama, c.in), "no API of these refuses it")
	}
}

func TestRefusedIsSaid(t *testing.T) {
	for in, want := range map[string][]string{
		`{"type":"object","properties":{"points":{"type":"array"},"phases":{"type":"integer","enum":[0,1,3]},"$filter":{"type":"string"}},
			"anyOf":[{"required":["points"]},{"required":["phases"]}]}`: {
			"points: an array without items is refused by openai, gemini",
			"anyOf: this keyword at the root is refused by openai, anthropic, gemini",
			"phases: an enum of other values than texts is refused by gemini",
			`"$filter": this name of a parameter is refused by anthropic`,
		},
		`{"type":"object","properties":{"a":{"type":"array","items":{}},"items":{"type":"string","default":{"type":"array"}}},
			"required":["a"],"additionalProperties":false}`: nil,
		``: nil, `{`: nil, `true`: nil,
	} {
		got := export.Refused(json.RawMessage(in))
		if want == nil {
			assert.Empty(t, got, in)
			continue
		}
		assert.Equal(t, want, got)
	}
}

// Every name, value and word of generated schemas is in every export, and each API gets nothing that it
// refuses.
func TestGeneratedSchemasInEveryExport(t *testing.T) {
	text, err := os.ReadFile("../../../host/schema/testdata/generated.json")
	require.NoError(t, err)
	var all []struct{ Name, In string }
	require.NoError(t, json.Unmarshal(text, &all))
	for _, g := range all {
		adapted, _ := schema.Parameters(json.RawMessage(g.In))
		var in any
		require.NoError(t, json.Unmarshal(adapted, &in))
		for _, format := range export.Formats() {
			out := parameters(t, format, string(adapted))
			for _, word := range wordsOf(in, "", format == export.Gemini) {
				assert.Contains(t, out, string(tool.MustMarshal(word)), "%s, %s", g.Name, format)
			}
			for _, refused := range export.Refused(json.RawMessage(out)) {
				if format != export.MCP && format != export.Ollama {
					assert.NotRegexp(t, `refused by .*`+string(format), refused, g.Name)
				}
			}
		}
	}
}

// wordsOf returns the property names, enum texts and descriptions in a schema. Gemini's schemas cannot
// hold a map's values.
func wordsOf(value any, key string, noMaps bool) (words []string) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			switch {
			case key == "properties":
				words = append(words, name)
			case name == "$defs" || name == "definitions" || name == "default" || name == "discriminator":
				continue // what is used of them is elsewhere too
			case noMaps && slices.Contains([]string{"additionalProperties", "patternProperties", "propertyNames", "prefixItems",
				"not", "unevaluatedProperties"}, name):
				continue
			case name == "description" || name == "const":
				if text, ok := inner.(string); ok {
					words = append(words, text)
					continue
				}
			}
			if key == "properties" {
				name = ""
			}
			words = append(words, wordsOf(inner, name, noMaps)...)
		}
	case []any:
		for _, inner := range value {
			if text, ok := inner.(string); ok && key == "enum" {
				words = append(words, text)
			}
			words = append(words, wordsOf(inner, "", noMaps)...)
		}
	}
	return words
}
