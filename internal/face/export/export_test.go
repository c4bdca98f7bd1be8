package export_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/face/export"
)

var defs = []*tool.Definition{
	{
		Name: "edit", Description: "Edit <b>. Returns: JSON.", Risk: tool.Dangerous,
		Parameters: json.RawMessage(`{
			"$schema":"https://json-schema.org/draft/2020-12/schema",
			"type":"object",
			"properties":{
				"zeta":{"type":["string","null"],"description":"Last name first."},
				"alpha":{"type":["string","integer"]},
				"any":true,
				"item":{"$ref":"#/$defs/item","description":"One item."},
				"tree":{"$ref":"#/$defs/tree"},
				"kind":{"const":"x"}
			},
			"required":["zeta"],
			"additionalProperties":false,
			"$defs":{
				"item":{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":0}}},
				"tree":{"type":"object","properties":{"child":{"$ref":"#/$defs/tree"}}}
			}}`),
	},
	{Name: "none", Description: "No parameters. Returns: text.", Risk: tool.ReadOnly},
}

func TestShapes(t *testing.T) {
	tests := map[export.Format]func(t *testing.T, v any) (name string, parameters any){
		export.MCP: func(_ *testing.T, v any) (string, any) {
			e := v.(map[string]any)["tools"].([]any)[0].(map[string]any)
			return e["name"].(string), e["inputSchema"]
		},
		export.OpenAI: openAI,
		export.Ollama: openAI,
		export.Anthropic: func(_ *testing.T, v any) (string, any) {
			e := v.([]any)[0].(map[string]any)
			return e["name"].(string), e["input_schema"]
		},
		export.Gemini: func(t *testing.T, v any) (string, any) {
			list := v.(map[string]any)["functionDeclarations"].([]any)
			assert.NotContains(t, list[1], "parameters", "an empty object schema is refused by the API")
			e := list[0].(map[string]any)
			return e["name"].(string), e["parameters"]
		},
	}
	require.Len(t, tests, len(export.Formats()))
	for format, find := range tests {
		t.Run(string(format), func(t *testing.T) {
			out, err := export.Definitions(format, defs, nil)
			require.NoError(t, err)
			assert.Contains(t, string(out), "Edit <b>", "no HTML escapes")
			var v any
			require.NoError(t, json.Unmarshal(out, &v))
			name, parameters := find(t, v)
			assert.Equal(t, "edit", name)
			assertPortable(t, parameters)
			assert.Less(t, strings.Index(string(out), `"zeta"`), strings.Index(string(out), `"alpha"`),
				"parameters keep their order")
		})
	}
}

func openAI(_ *testing.T, v any) (string, any) {
	e := v.([]any)[0].(map[string]any)
	f := e["function"].(map[string]any)
	return f["name"].(string), f["parameters"]
}

// assertPortable checks a schema for what some model APIs refuse.
func assertPortable(t *testing.T, v any) {
	t.Helper()
	root := v.(map[string]any)
	assert.Equal(t, "object", root["type"])
	assert.NotContains(t, root, "$ref")
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, sub := range v {
				assert.NotEqual(t, "$ref", k)
				if k == "type" && key != "properties" {
					assert.IsType(t, "", sub, "a type is one name")
				}
				if key == "properties" {
					assert.NotEqual(t, true, sub, "no schema is a bare true")
				}
				walk(k, sub)
			}
		case []any:
			for _, sub := range v {
				walk("", sub)
			}
		}
	}
	walk("", v)
}

func TestGeminiHasItsOwnKeywordsOnly(t *testing.T) {
	out, err := export.Definitions(export.Gemini, defs, nil)
	require.NoError(t, err)
	for _, word := range []string{"additionalProperties", "$defs", "$ref", "exclusiveMinimum", `"const"`, "$schema"} {
		assert.NotContains(t, string(out), word)
	}
	assert.Contains(t, string(out), `"nullable": true`)
}

func TestUnknownFormat(t *testing.T) {
	_, err := export.Definitions("bard", defs, nil)
	require.Error(t, err)
	assert.Contains(t, tool.AsError(err).Suggestion, "mcp, openai, anthropic, gemini, ollama")
}

func TestReferencesAreWrittenOut(t *testing.T) {
	for _, ref := range []string{"#/definitions/a", "#/properties/own", "#/allOf/0/properties/x", "#/$defs/b~1c%20d"} {
		out, err := export.Definitions(export.OpenAI, []*tool.Definition{{Name: "t", Description: "T.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"of":{"$ref":"` + ref + `"},"own":{"type":"integer"}},
				"allOf":[{"properties":{"x":{"type":"integer"}}}],"definitions":{"a":{"type":"integer"}},
				"$defs":{"b/c d":{"type":"integer"}}}`)}}, nil)
		require.NoError(t, err)
		var tools []struct {
			Function struct {
				Parameters struct{ Properties map[string]any }
			}
		}
		require.NoError(t, json.Unmarshal(out, &tools))
		assert.Equal(t, map[string]any{"type": "integer"}, tools[0].Function.Parameters.Properties["of"], ref)
	}
}
