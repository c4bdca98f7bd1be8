package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
)

// places are schemas with X at a place, and values with what is there.
var places = map[string]struct{ schema, value string }{
	"a property":       {`{"type":"object","properties":{"p":X}}`, `{"p":V}`},
	"below a property": {`{"type":"object","properties":{"o":{"type":"object","properties":{"p":X}}}}`, `{"o":{"p":V}}`},
	"in items": {`{"type":"object","properties":{"l":{"type":"array"` +
		`,"items":{"type":"object","properties":{"p":X}}}}}`, `{"l":[{"p":V}]}`},
	"behind a reference": {`{"type":"object","properties":{"o":{"$ref":"#/$defs/d"}}` +
		`,"$defs":{"d":{"type":"object","properties":{"p":X}}}}`, `{"o":{"p":V}}`},
	"in a map": {`{"type":"object","properties":{"m":{"type":"object"` +
		`,"additionalProperties":{"type":"object","properties":{"p":X}}}}}`, `{"m":{"k":{"p":V}}}`},
	"by a pattern": {`{"type":"object","properties":{"m":{"type":"object"` +
		`,"patternProperties":{"^k":{"type":"object","properties":{"p":X}}}}}}`, `{"m":{"k":{"p":V}}}`},
	"as pydantic does it": {`{"type":"object","properties":{"o":{"allOf":[{"$ref":"#/$defs/d"}]` +
		`,"default":null}},"$defs":{"d":{"type":"object","properties":{"p":X}}}}`, `{"o":{"p":V}}`},
	"where null may be": {`{"type":"object","properties":{"o":{"anyOf":[{"$ref":"#/$defs/d"},{"type":"null"}]}}` +
		`,"$defs":{"d":{"type":"object","properties":{"p":X}}}}`, `{"o":{"p":V}}`},
}

// A leniency applies at every depth.
func TestLenienciesHoldAtEveryDepth(t *testing.T) {
	for place, at := range places {
		for _, c := range []struct{ name, x, given, want string }{
			{"null for what may be left out", `{"type":"integer"}`, `"p":null`, ``},
			{"null that may be", `{"type":["integer","null"]}`, `"p":null`, `"p":null`},
			{"a default", `{"type":"integer","default":7}`, ``, `"p":7`},
			{"null as a default of what is never null", `{"type":"string","default":null}`, ``, ``},
			{"an integer with a fraction", `{"type":"integer"}`, `"p":3.0`, `"p":3`},
			{"an integer or null with a fraction", `{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `"p":3e0`, `"p":3`},
			{"a number as text", `{"type":"integer"}`, `"p":"5"`, `"p":5`},
			{"a number or null as text", `{"anyOf":[{"type":"integer"},{"type":"null"}]}`, `"p":"5"`, `"p":5`},
			{"a list as text", `{"oneOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]}`, `"p":"[1]"`, `"p":[1]`},
			{"one of some numbers as text", `{"enum":[0,1,3]}`, `"p":"3"`, `"p":3`},
			{"a text stays one", `{"anyOf":[{"type":"integer"},{"type":"string"}]}`, `"p":"5"`, `"p":"5"`},
			{"what may be anything stays", `{"anyOf":[{"type":"integer"},{}]}`, `"p":"5"`, `"p":"5"`},
		} {
			s, err := schema.Compile(json.RawMessage(strings.Replace(at.schema, "X", c.x, 1)))
			require.NoError(t, err, place)
			value := json.RawMessage(strings.Replace(at.value, `"p":V`, c.given, 1))
			relaxed, _ := s.Relax(value)
			got, _, violations := s.Decode(relaxed)
			assert.Empty(t, violations, "%s, %s", place, c.name)
			want := strings.Replace(at.value, `"p":V`, c.want, 1)
			assert.JSONEq(t, want, string(got), "%s, %s", place, c.name)
		}
	}
}

// A required value is not removed.
func TestNullOfWhatIsRequiredIsSaid(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"l":{"type":"array","items":` +
		`{"type":"object","properties":{"p":{"type":"integer"}},"required":["p"]}}}}`))
	require.NoError(t, err)
	_, _, violations := s.Decode(json.RawMessage(`{"l":[{"p":null}]}`))
	assert.Equal(t, "l[0].p: must be an integer, not null", schema.Join(violations))
}

// Pairs of a command line are read by the alternatives' types.
func TestPairsOfAlternatives(t *testing.T) {
	s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}]},
		"l":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]},
		"t":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}}}`))
	require.NoError(t, err)
	got, violations := s.FromPairs([]string{"n=5", "l=1", "l=2", "t=1"})
	assert.Empty(t, violations)
	assert.JSONEq(t, `{"n":5,"l":[1,2],"t":"1"}`, string(got))
}
