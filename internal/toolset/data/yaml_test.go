package data_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/toolset/data"
)

func toJSON(t *testing.T, text string) []string {
	t.Helper()
	docs, err := data.ReadYAML([]byte(text))
	require.NoError(t, err, text)
	var all []string
	for _, d := range docs {
		out, err := data.WriteJSON(d.Value, "")
		require.NoError(t, err)
		all = append(all, out)
	}
	return all
}

// Plain scalars follow the core schema of YAML 1.2.
func TestYAMLScalars(t *testing.T) {
	for text, want := range map[string]string{
		// the Norway problem and similar
		"no": `"no"`, "NO": `"NO"`, "yes": `"yes"`, "on": `"on"`, "Off": `"Off"`, "y": `"y"`, "n": `"n"`,
		"true": `true`, "True": `true`, "TRUE": `true`, "false": `false`, "tRUE": `"tRUE"`,
		"null": `null`, "~": `null`, "Null": `null`, "nULL": `"nULL"`,
		// numbers
		"0": `0`, "-0": `-0`, "+12": `12`, "-12": `-12`, "012": `12`, "0777": `777`, "0o17": `15`, "0x1F": `31`,
		"0b11": `"0b11"`, "1_000": `"1_000"`,
		"123456789012345678901234567890": `123456789012345678901234567890`,
		"18446744073709551616":           `18446744073709551616`,
		"0xFFFFFFFFFFFFFFFFFF":           `4722366482869645213695`,
		"1.50":                           `1.50`, ".5": `0.5`, "-.5": `-0.5`, "1.": `1.0`, "1e3": `1e3`,
		"1.5E-7": `1.5E-7`,
		"+1e+3":  `1e+3`, "00.10": `0.10`,
		"0.1000000000000000055511151231257827": `0.1000000000000000055511151231257827`, "1e400": `1e400`,
		"1.2.3": `"1.2.3"`, "1e": `"1e"`, "e3": `"e3"`, ".": `"."`, "-": `[null]`, "+": `"+"`, "0x": `"0x"`,
		"0o8": `"0o8"`, "1:30": `"1:30"`, "190:20:30": `"190:20:30"`,
		// dates are strings
		"2001-12-14": `"2001-12-14"`, "2001-12-14t21:59:43.10-05:00": `"2001-12-14t21:59:43.10-05:00"`,
		"2001-12-14 21:59:43": `"2001-12-14 21:59:43"`,
		// quotes make strings
		`"no"`: `"no"`, `'12'`: `"12"`, `"1\n2"`: `"1\n2"`, `'it''s'`: `"it's"`, `"\u00fc\x41\e"`: `"üA\u001b"`,
		// tags
		"!!str 12": `"12"`, "!!int '12'": `12`, "!!float 1": `1`, "!!bool 'true'": `true`, "!!null ''": `null`,
		"!!timestamp 2001-12-14": `"2001-12-14"`, "!!binary aGk=": `"aGk="`,
		"a: b: c": ``, // no mapping within a plain scalar
	} {
		if want == "" {
			_, err := data.ReadYAML([]byte(text))
			require.Error(t, err, text)
			continue
		}
		assert.Equal(t, []string{want}, toJSON(t, text+"\n"), "%q", text)
	}
}

func TestYAMLStructures(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"order": {"z: 1\na: 2\nm: 3\n", `{"z":1,"a":2,"m":3}`},
		"flow":  {"{b: [1, two, {c: ~}], a: }", `{"b":[1,"two",{"c":null}],"a":null}`},
		"block scalars": {"a: |\n  one\n  two\nb: >\n  one\n  two\nc: |-\n  x\n",
			`{"a":"one\ntwo\n","b":"one two\n","c":"x"}`},
		"folded plain": {"a: one\n  two\n\n  three\n", `{"a":"one two\nthree"}`},
		"anchor and alias": {"a: &x {k: 1}\nb: *x\nc: [*x, *x]\n",
			`{"a":{"k":1},"b":{"k":1},"c":[{"k":1},{"k":1}]}`},
		"alias of a scalar": {"a: &x 0x10\nb: *x\n", `{"a":16,"b":16}`},
		"alias as a key":    {"a: &x key\n*x : v\n", `{"a":"key","key":"v"}`},
		"merge key": {"d: &d {a: 1, b: 2}\ne:\n  <<: *d\n  b: 3\n",
			`{"d":{"a":1,"b":2},"e":{"a":1,"b":3}}`},
		"merge key, last": {"d: &d {a: 1, b: 2}\ne:\n  b: 3\n  <<: *d\n",
			`{"d":{"a":1,"b":2},"e":{"b":3,"a":1}}`},
		"merge key, several": {"x: &x {a: 1}\ny: &y {a: 2, b: 2}\nz:\n  <<: [*x, *y]\n",
			`{"x":{"a":1},"y":{"a":2,"b":2},"z":{"a":1,"b":2}}`},
		"merge key, in turn": {"x: &x {a: 1}\ny: &y\n  <<: *x\n  b: 2\nz:\n  <<: *y\n",
			`{"x":{"a":1},"y":{"a":1,"b":2},"z":{"a":1,"b":2}}`},
		"merge key, written":    {"z:\n  <<: {a: 1}\n", `{"z":{"a":1}}`},
		"merge key, quoted":     {"z:\n  \"<<\": {a: 1}\n", `{"z":{"<<":{"a":1}}}`},
		"keys that are no text": {"1: a\ntrue: b\n~: c\n1.50: d\n", `{"1":"a","true":"b","null":"c","1.50":"d"}`},
		"set":                   {"!!set {a, b}\n", `{"a":null,"b":null}`},
		"empty":                 {"a: []\nb: {}\nc: ''\n", `{"a":[],"b":{},"c":""}`},
		"comment":               {"# one\na: 1 # two\n", `{"a":1}`},
		"JSON is YAML":          {`{"a": [1, 2.50, "x\u00fc"], "b": null}`, `{"a":[1,2.50,"xü"],"b":null}`},
		"mark and CRLF":         {"\xef\xbb\xbfa: 1\r\nb: |\r\n  x\r\n", `{"a":1,"b":"x\n"}`},
		"directive":             {"%YAML 1.2\n---\na: no\n", `{"a":"no"}`},
		"directives":            {"# a comment\n%YAML 1.2\n%TAG ! tag:x,2000:\n---\na: no\n", `{"a":"no"}`},
		"no directive":          {"--- |\n %YAML 1.2\n", `"%YAML 1.2\n"`},
		"not ASCII":             {"größe: 世界 🎉\n", `{"größe":"世界 🎉"}`},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, []string{c.want}, toJSON(t, c.text)) })
	}
}

func TestYAMLDocuments(t *testing.T) {
	assert.Equal(t, []string{`{"a":1}`, `[2]`, `"three"`, `null`}, toJSON(t, "a: 1\n---\n- 2\n--- three\n---\n"))
	assert.Equal(t, []string{`1`, `2`}, toJSON(t, "--- 1\n...\n--- 2\n...\n"))
	assert.Empty(t, toJSON(t, ""))
	assert.Empty(t, toJSON(t, "# nothing\n"))
}

func TestYAMLNotes(t *testing.T) {
	docs, err := data.ReadYAML([]byte("a: !env HOME\nb: !!set {c}\n"))
	require.NoError(t, err)
	assert.Equal(t, []string{"the tag !env at line 1, column 4 is not kept"}, docs[0].Notes)
}

// bomb returns a text in which each line stands for ten of the one before.
func bomb(levels int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i <= levels; i++ {
		prev, name := string(rune('a'+i-1))+"0", string(rune('a'+i))+"0"
		b.WriteString(name + ": &" + name + " [" + strings.TrimSuffix(strings.Repeat("*"+prev+", ", 10), ", ") + "]\n")
	}
	return b.String()
}

func TestYAMLMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		text         string
		line, column int
		has          string
	}{
		"duplicate key":            {"a: 1\nb: 2\na: 3\n", 3, 1, `the key "a" occurs a second time`},
		"duplicate key, in flow":   {"x: {a: 1, a: 2}\n", 1, 11, `the key "a" occurs a second time`},
		"duplicate key, quoted":    {"a: 1\n'a': 2\n", 2, 1, `the key "a" occurs a second time`},
		"duplicate key, number":    {"1: a\n'1': b\n", 2, 1, `the key "1" occurs a second time`},
		"tab as indent":            {"a:\n\tb: 1\n", 2, 1, "tab"},
		"unclosed list":            {"a: [1, 2\nb: 3\n", 2, 2, "flow sequence"},
		"unclosed quote":           {"a: 'x\n", 2, 1, "quoted scalar"},
		"unknown alias":            {"a: *none\n", 1, 4, "none"},
		"alias of itself":          {"a: &x [1, *x]\n", 1, 11, "contains itself"},
		"merge of itself":          {"a: &x\n  b: 1\n  <<: *x\n", 3, 7, "contains itself"},
		"merge of a text":          {"a:\n  <<: text\n", 2, 7, "a merge key needs a mapping"},
		"alias bomb":               {bomb(9), 6, 10, "the aliases stand for more than 200000 values"},
		"complex key":              {"? [a, b]\n: c\n", 1, 3, "a key is a list or a mapping"},
		"tag that does not fit":    {"a: !!int x\n", 1, 4, `"x" is not a !!int`},
		"not UTF-8":                {"a: ok\nb: \xff\n", 2, 4, "byte 0xff is not UTF-8"},
		"anchor before a bracket":  {"a: &a[x]\n", 1, 6, "scanning an anchor"},
		"alias before a bracket":   {"a: &a 1\nb: *a[x]\n", 2, 6, "scanning an alias"},
		"end in an anchor":         {"  |\n 00\n! &", 3, 4, "scanning an anchor"},
		"bad indent":               {"a:\n   b: 1\n  c: 2\n", 3, 3, "block mapping"},
		"nested too deep":          {strings.Repeat("[", 600) + strings.Repeat("]", 600), 1, 0, "deep"},
		"mapping in a plain value": {"a: b: c\n", 1, 5, "mapping values are not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := data.ReadYAML([]byte(c.text))
			require.Error(t, err)
			e := tool.AsError(err)
			assert.Equal(t, tool.InvalidArgument, e.Code)
			assert.Contains(t, e.Message, "Invalid YAML at line ")
			assert.Contains(t, e.Message, c.has)
			assert.NotEmpty(t, e.Suggestion)
			assert.Equal(t, c.line, e.Details["line"])
			if c.column > 0 {
				assert.Equal(t, c.column, e.Details["column"])
			}
		})
	}
}

func TestJSONMistakes(t *testing.T) {
	for text, place := range map[string]string{
		"":                          "line 1, column 1: there is nothing",
		"{\"a\": 1,}":               "line 1, column 9: ",
		"{\"a\": 1\n \"b\": 2}":     "line 2, column 2: ",
		"[1, 2":                     "line 1, column 6: the text ends too early",
		"[1 2]":                     "line 1, column 4: ",
		"{'a': 1}":                  "line 1, column 2: ",
		"{\"ü\": x}":                "line 1, column 7: ",
		"[01]":                      "line 1, column 3: ",
		"[1.]":                      "line 1, column 4: ",
		"nul":                       "line 1, column 3: ",
		"1 2":                       "line 1, column 3: ",
		"[\"a\tb\"]":                "line 1, column 4: ",
		"{\"a\":1,\n  \"a\": 2}":    `line 2, column 3: the key "a" occurs a second time`,
		"{\"x\":{\"a\":1,\"a\":2}}": `line 1, column 13: the key "a" occurs a second time`,
		"[\"\xff\"]":                "line 1, column 3: byte 0xff is not UTF-8",
		strings.Repeat("[", 600) + strings.Repeat("]", 600): "line 1, column 502: values are nested more than 500 deep",
	} {
		_, err := data.ReadJSON([]byte(text))
		require.Error(t, err, "%.20q", text)
		assert.Contains(t, err.Error(), "Invalid JSON at "+place, "%.20q", text)
	}
}

func TestJSONKeepsNumbersAndOrder(t *testing.T) {
	for _, text := range []string{
		`{"z":1,"a":[1.0,1.50,-0,1e400,0.1000000000000000055511151231257827,123456789012345678901234567890],"m":{}}`,
		`["<&>","\u2028","\\\"\n",""]`, `null`, `"x"`, `[]`, `[[],{},[{}]]`,
	} {
		v, err := data.ReadJSON([]byte(text))
		require.NoError(t, err)
		out, err := data.WriteJSON(v, "")
		require.NoError(t, err)
		assert.Equal(t, text, out)
	}
	v, err := data.ReadJSON([]byte(`{"a":[1,{"b":[]}],"c":{}}`))
	require.NoError(t, err)
	out, err := data.WriteJSON(v, "  ")
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}", out)
}

func TestJSONRefusesWhatItLacks(t *testing.T) {
	docs, err := data.ReadYAML([]byte("a:\n- 1\n- .inf\n"))
	require.NoError(t, err)
	_, err = data.WriteJSON(docs[0].Value, "")
	require.EqualError(t, err, "The number .inf at $['a'][1] cannot be written as JSON")
}

// Values are written and read back unchanged.
func TestYAMLRoundTrip(t *testing.T) {
	for _, text := range []string{
		`{"z":1,"a":[1.0,1.50,-0,1e400,123456789012345678901234567890],"m":{}}`,
		`["no","yes","y","on","~","null","","true","12","1.5","0x1F","0o7","0777","1_000","1:30","2001-12-14",` +
			`".inf","<<","=","-","?",":","- a","a: b","a #b","#a"]`,
		`["*a","&a","!a","|",">","@a","%a","` + "`a" +
			`","[a","{a","]","}",",","'","\""," a","a ","a\n","\na"," \n","a\n\n","a\nb","a \nb","a\n ` +
			`b","\ta","a\tb","a\\b","\u0000\u0007\u0085\u2028\ufeff","ü世🎉","---","...","--- a"]`,
		`{"":1,"a b":2,"no":3,"1":4,"a: b":5,"#":6,"\n":7,"` + strings.Repeat("long ", 300) + `":8}`,
		`[[],{},[[]],[{}],{"a":[]},[[1,[2]],{"b":{"c":{"d":[]}}}]]`,
		`"` + strings.Repeat("long line ", 50) + `"`, `null`, `true`, `""`, `12`,
	} {
		v, err := data.ReadJSON([]byte(text))
		require.NoError(t, err)
		written, err := data.WriteYAML(v)
		require.NoError(t, err)
		assert.Equal(t, []string{compact(t, text)}, toJSON(t, written), written)
	}
}

func TestYAMLWriting(t *testing.T) {
	v, err := data.ReadJSON([]byte(`{"name":"x","list":[1,{"a":"no"}],"text":"one\ntwo\n","none":null,"e":[]}`))
	require.NoError(t, err)
	out, err := data.WriteYAML(v)
	require.NoError(t, err)
	assert.Equal(t, "name: x\nlist:\n- 1\n- a: \"no\"\ntext: |\n  one\n  two\nnone: null\ne: []\n",
		strings.ReplaceAll(out, "\n  - ", "\n- "))
	docs, err := data.ReadYAML([]byte("1: a\n'2': b\n"))
	require.NoError(t, err)
	out, err = data.WriteYAML(docs[0].Value, "second")
	require.NoError(t, err)
	assert.Equal(t, "1: a\n\"2\": b\n---\nsecond\n", out)
}

// TestMerge has the examples of RFC 7396, appendix A.
func TestMerge(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		target, err := data.ReadJSON([]byte(c[0]))
		require.NoError(t, err)
		patch, err := data.ReadJSON([]byte(c[1]))
		require.NoError(t, err)
		out, err := data.WriteJSON(data.Merge(target, patch), "")
		require.NoError(t, err)
		assert.Equal(t, c[2], out, "%s with %s", c[0], c[1])
		again, err := data.WriteJSON(target, "")
		require.NoError(t, err)
		assert.Equal(t, c[0], again, "the target stays as it was")
	}
}

// FuzzYAML checks that what was read is the same after it is written and read.
func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"a: [1, {b: c}]\n", "- |\n  x\n- &a b\n- *a\n", "? a\n: b\n", bomb(3),
		"--- 1\n--- 'x'\n", "a: !!str 1\n<<: {b: 1}\n", "  |\n 00\n! &", "a: &a[x]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		docs, err := data.ReadYAML([]byte(text))
		if err != nil {
			return
		}
		for _, d := range docs {
			out, err := data.WriteYAML(d.Value)
			require.NoError(t, err)
			again, err := data.ReadYAML([]byte(out))
			require.NoError(t, err, out)
			require.Len(t, again, 1, out)
			require.Equal(t, d.Value, again[0].Value, out)
		}
	})
}
