package schema_test

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
)

func TestIsObject(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"type":"object"}`:          true,
		`{"type":"array"}`:           false,
		`{"type":["object","null"]}`: false,
		`{"properties":{}}`:          false,
		`true`:                       false,
		`{`:                          false,
	} {
		assert.Equal(t, want, schema.IsObject(json.RawMessage(raw)), raw)
	}
}

// A wrapped schema accepts the wrapped values of those that it accepted before, by a library that knows all of
// JSON Schema.
func TestWrap(t *testing.T) {
	tests := map[string]struct{ schema, good, bad string }{
		"array":    {`{"type":"array","items":{"type":"integer"}}`, `[1,2]`, `["x"]`},
		"scalar":   {`{"type":"integer"}`, `7`, `"x"`},
		"null":     {`{"type":["object","null"]}`, `null`, `1`},
		"anything": {`true`, `[null]`, ``},
		"reference": {`{"type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`, `[1]`,
			`["x"]`},
		"recursive": {`{"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#"}}]}`, `[[1],2]`,
			`[["x"]]`},
		"property $ref": {`{"type":["object","array"],"properties":{"$ref":{"type":"integer"}}}`, `{"$ref":1}`,
			`{"$ref":"x"}`},
		"constant with ref": {`{"const":{"$ref":"#/a"}}`, `{"$ref":"#/a"}`, `{"$ref":"#/properties/result/a"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			wrapped, err := schema.Wrap(json.RawMessage(tt.schema))
			require.NoError(t, err)
			assert.True(t, schema.IsObject(wrapped))
			var parsed jsonschema.Schema
			require.NoError(t, json.Unmarshal(wrapped, &parsed))
			resolved, err := parsed.Resolve(nil)
			require.NoError(t, err)
			check := func(text string) error {
				var value any
				require.NoError(t, json.Unmarshal([]byte(text), &value))
				return resolved.Validate(value)
			}
			assert.NoError(t, check(`{"result":`+tt.good+`}`))
			assert.Error(t, check(`{}`), "the value is missing")
			if tt.bad != "" {
				assert.Error(t, check(`{"result":`+tt.bad+`}`))
			}
		})
	}
	_, err := schema.Wrap(json.RawMessage(`{`))
	assert.Error(t, err)
}
