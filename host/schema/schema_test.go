package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/schema"
)

const editSchema = `{
  "type": "object",
  "properties": {
    "path":  {"type": "string", "minLength": 1, "description": "The file. More words."},
    "mode":  {"type": "string", "enum": ["unified", "side"], "default": "unified"},
    "count": {"type": "integer", "minimum": 1, "maximum": 10},
    "ratio": {"type": "number", "exclusiveMinimum": 0},
    "all":   {"type": "boolean", "default": false},
    "edits": {"type": "array", "minItems": 1, "items": {
      "type": "object",
      "properties": {"old": {"type": "string"}, "every": {"type": "boolean", "default": true}},
      "required": ["old"],
      "additionalProperties": false
    }},
    "tags":  {"type": "array", "items": {"type": "string"}, "uniqueItems": true}
  },
  "required": ["path"],
  "additionalProperties": false
}`

func compile(t *testing.T, raw string) *schema.Schema {
	t.Helper()
	s, err := schema.Compile(json.RawMessage(raw))
	require.NoError(t, err)
	return s
}

func TestDecodeAccepts(t *testing.T) {
	s := compile(t, editSchema)
	tests := map[string]struct{ in, want string }{
		"defaults are spliced in": {`{"path":"a"}`, `{"path":"a","mode":"unified","all":false}`},
		"given values stay": {`{"path":"a","mode":"side","all":true}`,
			`{"path":"a","mode":"side","all":true}`},
		"nested defaults": {`{"path":"a","edits":[{"old":"x"}]}`,
			`{"path":"a","mode":"unified","all":false,"edits":[{"old":"x","every":true}]}`},
		"a whole float is an integer": {`{"path":"a","count":3.0}`,
			`{"path":"a","count":3.0,"mode":"unified","all":false}`},
		"null is not given": {`{"path":"a","mode":null,"count":null,"edits":null}`,
			`{"path":"a","mode":"unified","all":false}`},
		"blank space around": {" \n{\"path\":\"a\"}\n ", `{"path":"a","mode":"unified","all":false}`},
		"decomposed characters stay": {"{\"path\":\"e\u0301\"}",
			"{\"path\":\"e\u0301\",\"mode\":\"unified\",\"all\":false}"},
		"a surrogate pair stays": {`{"path":"\ud83d\uDE00\ufffd\\\\ud800"}`, `{"path":"😀\ufffd\\\\ud800","mode":"unified","all":false}`},
		"digits of large integers remain": {`{"path":"a","ratio":12345678901234567890123}`,
			`{"path":"a","ratio":12345678901234567890123,"mode":"unified","all":false}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			raw, args, violations := s.Decode(json.RawMessage(tt.in))
			require.Empty(t, violations)
			assert.JSONEq(t, tt.want, string(raw))
			decoded, err := json.Marshal(args)
			require.NoError(t, err)
			assert.JSONEq(t, tt.want, string(decoded))
		})
	}
}

func TestDecodeWritesIntegersPlainly(t *testing.T) {
	s := compile(t, `{"type":"object","$defs":{"n":{"type":"integer"}},"properties":{
	  "n":{"type":"integer"}, "ref":{"$ref":"#/$defs/n"}, "maybe":{"type":["integer","null"]}, "x":{"type":"number"}, "any":{},
	  "list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}}}`)
	for in, want := range map[string]string{
		`{"n":3.0}`:                     `{"n":3}`,
		`{"n":-1e2}`:                    `{"n":-100}`,
		`{"n":7}`:                       `{"n":7}`,
		`{"ref":2.00}`:                  `{"ref":2}`,
		`{"maybe":5E0}`:                 `{"maybe":5}`,
		`{"list":[{"n":1},{"n":2.0}]}`:  `{"list":[{"n":1},{"n":2}]}`,
		`{"x":3.0,"any":1.0}`:           `{"x":3.0,"any":1.0}`,
		`{"n":1e300}`:                   `{"n":1e300}`,
		`{"n":4.0,"other":"<a> & 1.0"}`: `{"n":4,"other":"<a> & 1.0"}`,
	} {
		raw, _, violations := s.Decode(json.RawMessage(in))
		require.Empty(t, violations, in)
		assert.Equal(t, want, string(raw))
	}
}

func TestDecodeEmptyIsAnEmptyObject(t *testing.T) {
	s := compile(t, `{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`)
	for _, in := range []string{"", "null", "{}", "{ }"} {
		raw, _, violations := s.Decode(json.RawMessage(in))
		require.Empty(t, violations, in)
		assert.JSONEq(t, `{"a":"x"}`, string(raw), in)
	}
}

func TestDecodeNamesAllViolations(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string
	}{
		"several at once": {
			`{"mode":"sidy","count":99,"colour":1,"edits":[{"old":1},{}]}`,
			[]string{
				"path: is required (The file)",
				"colour: is not a known parameter",
				"count: must be at most 10, not 99",
				"edits[0].old: must be a string, not number",
				"edits[1].old: is required",
				`mode: must be one of "unified", "side", not "sidy"; did you mean "side"?`,
			},
		},
		"near name": {`{"path":"a","cuont":1}`,
			[]string{`cuont: is not a known parameter; did you mean "count"?`}},
		"another case is wrong": {`{"path":"a","PATH":"b"}`,
			[]string{`PATH: is not a known parameter; did you mean "path"?`}},
		"fraction":           {`{"path":"a","count":1.5}`, []string{"count: must be an integer, not number"}},
		"exclusive bound":    {`{"path":"a","ratio":0}`, []string{"ratio: must be more than 0, not 0"}},
		"empty text":         {`{"path":""}`, []string{"path: must not be empty"}},
		"null":               {`{"path":null}`, []string{"path: must be a string, not null"}},
		"null in a list":     {`{"path":"a","tags":[null]}`, []string{"tags[0]: must be a string, not null"}},
		"too few items":      {`{"path":"a","edits":[]}`, []string{"edits: must have at least 1 item, not 0"}},
		"twins":              {`{"path":"a","tags":["x","y","x"]}`, []string{"tags[2]: is the same as item 0"}},
		"key twice":          {`{"path":"a","path":"b"}`, []string{"path is given twice"}},
		"array":              {`["a"]`, []string{"must be a JSON object, not array"}},
		"broken":             {"{\n\"path\": }", []string{"line 2, column 9"}},
		"cut off":            {`{"path":"a`, []string{"not valid JSON"}},
		"text behind":        {`{"path":"a"} x`, []string{"text behind the JSON object"}},
		"object behind":      {`{"path":"a"}{}`, []string{"behind the JSON object"}},
		"not UTF-8":          {"{\"path\":\"n\xff\"}", []string{"path: is not Unicode text"}},
		"half a pair":        {`{"path":"a","tags":["\\","\\\ud83dx"]}`, []string{"tags: is not Unicode text"}},
		"the other half":     {`{"path":"\udE00\ud83D"}`, []string{"path: is not Unicode text"}},
		"a key":              {`{"path":"a","\ud800":1}`, []string{"parameters is not Unicode text"}},
		"monstrous exponent": {`{"path":"a","ratio":1e999999999}`, []string{"too large a number"}},
		"deep": {`{"path":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}`,
			[]string{"nested more than"}},
	}
	s := compile(t, editSchema)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, violations := s.Decode(json.RawMessage(tt.in))
			require.Len(t, violations, len(tt.want), "%v", violations)
			for i, want := range tt.want {
				assert.Contains(t, violations[i].String(), want)
			}
		})
	}
}

func TestCombinations(t *testing.T) {
	tests := map[string]struct {
		schema, in string
		ok         bool
	}{
		"anyOf fits": {`{"properties":{"v":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"v":1}`,
			true},
		"anyOf fits none": {`{"properties":{"v":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"v":true}`, false},
		"oneOf fits two": {`{"properties":{"v":{"oneOf":[{"type":"number"},{"type":"integer"}]}}}`, `{"v":1}`,
			false},
		"not":                  {`{"properties":{"v":{"not":{"const":"x"}}}}`, `{"v":"x"}`, false},
		"const equal in value": {`{"properties":{"v":{"const":1}}}`, `{"v":1.0}`, true},
		"reference": {`{"properties":{"v":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`,
			`{"v":"x"}`, false},
		"recursive reference": {`{"properties":{"v":{"$ref":"#"}},"additionalProperties":false}`,
			`{"v":{"v":{"w":1}}}`, false},
		"false property":           {`{"properties":{"v":false}}`, `{"v":1}`, false},
		"additional schema":        {`{"additionalProperties":{"type":"string"}}`, `{"v":1}`, false},
		"keyword of the library":   {`{"properties":{"v":{"type":"number","multipleOf":5}}}`, `{"v":7}`, false},
		"keyword of the library 2": {`{"properties":{"v":{"type":"number","multipleOf":5}}}`, `{"v":10}`, true},
		"dependent keys":           {`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, violations := compile(t, tt.schema).Decode(json.RawMessage(tt.in))
			assert.Equal(t, tt.ok, len(violations) == 0, "%v", violations)
		})
	}
}

// A null that a schema allows is kept.
func TestDecodeKeepsNullWhereItIsAllowed(t *testing.T) {
	s := compile(t, `{"properties":{"a":{"type":["string","null"],"default":"x"},"b":{},"c":{"enum":[1,null]}}}`)
	raw, _, violations := s.Decode(json.RawMessage(`{"a":null,"b":null,"c":null}`))
	require.Empty(t, violations)
	assert.JSONEq(t, `{"a":null,"b":null,"c":null}`, string(raw))
}

// Choices written as constants are listed together.
func TestChoiceOfConstants(t *testing.T) {
	s := compile(t, `{"properties":{"c":{"type":"string","oneOf":[{"const":"red","title":"Red"},{"const":"green","title":"Green"}]}}}`)
	_, _, violations := s.Decode(json.RawMessage(`{"c":"gren"}`))
	require.Len(t, violations, 1)
	assert.Equal(t, `c: must be one of "red", "green", not "gren"; did you mean "green"?`, violations[0].String())
}

func TestCompileRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"no JSON":           `{`,
		"no type":           `{"properties":{"a":{"items":{"type":"strng"}}}}`,
		"type twice":        `{"type":["string","string"]}`,
		"no types":          `{"type":[]}`,
		"bound as text":     `{"minimum":"5"}`,
		"negative length":   `{"minLength":-1}`,
		"bad pattern":       `{"properties":{"a":{"pattern":"("}}}`,
		"dangling":          `{"properties":{"a":{"$ref":"#/$defs/none"}}}`,
		"outside reference": `{"properties":{"a":{"$ref":"http://example.com/x"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := schema.Compile(json.RawMessage(raw))
			assert.Error(t, err)
		})
	}
	_, err := schema.Compile(json.RawMessage(`{"properties":{"a":{"items":{"type":"strng"}}}}`))
	assert.EqualError(t, err, `not a JSON Schema: properties.a.items: "strng" is not a type; did you mean "string"?`)
}

func TestFromPairs(t *testing.T) {
	s := compile(t, editSchema)
	tests := map[string]struct {
		pairs []string
		want  string
		wrong string
	}{
		"types follow the schema": {pairs: []string{"path=12", "count=3", "all=true", "ratio=0.5"},
			want: `{"path":"12","count":3,"all":true,"ratio":0.5}`},
		"equals sign in a value": {pairs: []string{"path=a=b"}, want: `{"path":"a=b"}`},
		"empty value":            {pairs: []string{"path="}, want: `{"path":""}`},
		"repeated list":          {pairs: []string{"tags=a", "tags=b,c"}, want: `{"tags":["a","b,c"]}`},
		"list as JSON":           {pairs: []string{`tags=["a","b"]`}, want: `{"tags":["a","b"]}`},
		"forced JSON":            {pairs: []string{`edits:=[{"old":"x"}]`}, want: `{"edits":[{"old":"x"}]}`},
		"no number stays text":   {pairs: []string{"count=many"}, want: `{"count":"many"}`},
		"not UTF-8":              {pairs: []string{"path=n\xff"}, wrong: "path: is not Unicode text"},
		"no pair":                {pairs: []string{"path"}, wrong: "path: is not of the form key=value"},
		"twice":                  {pairs: []string{"path=a", "path=b"}, wrong: "path: is given twice; give it once"},
		"broken JSON":            {pairs: []string{"edits:=["}, wrong: "takes JSON"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			raw, violations := s.FromPairs(tt.pairs)
			if tt.wrong != "" {
				require.Len(t, violations, 1)
				assert.Contains(t, violations[0].String(), tt.wrong)
				return
			}
			require.Empty(t, violations)
			assert.JSONEq(t, tt.want, string(raw))
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"path":"a","edits":[{"old":"x"}]}`, `{"count":1e10}`, `[1]`,
		`{"path":"\ud800"}`} {
		f.Add(seed)
	}
	s, err := schema.Compile(json.RawMessage(editSchema))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, in string) {
		raw, args, violations := s.Decode(json.RawMessage(in))
		if len(violations) > 0 {
			assert.Nil(t, args)
			return
		}
		assert.True(t, json.Valid(raw), "%q gave %q", in, raw)
	})
}
