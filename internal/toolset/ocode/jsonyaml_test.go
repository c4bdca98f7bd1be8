package ocode_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJSONYAML(t *testing.T) {
	const yaml = "z: no\nbig: 123456789012345678901234567890\nlist: [1.50, two]\n"
	const json = `{"z":"no","big":123456789012345678901234567890,"list":[1.50,"two"]}`
	t.Run("action parse", func(t *testing.T) {
		g := newBench(t).ok("json_yaml", args{"action": "parse", "input": yaml})
		assert.Equal(t, json, g.Output)
		assert.Equal(t, "yaml", g.Metadata["format"])
		assert.EqualValues(t, 1, g.Metadata["documents"])
	})
	t.Run("a named pipe", func(t *testing.T) {
		b := newBench(t)
		require.NoError(t, syscall.Mkfifo(b.root+"/pp", 0o600))
		b.fails("pp is a named pipe, not a regular file", "json_yaml", args{"action": "parse", "input": "pp"})
	})
	t.Run("action validate", func(t *testing.T) {
		b := newBench(t)
		assert.Equal(t, "Valid JSON", b.ok("json_yaml", args{"action": "validate", "input": json}).Output)
		assert.Equal(t, "Valid YAML", b.ok("json_yaml", args{"action": "validate", "input": yaml}).Output)
		assert.Equal(t, "Valid YAML, 2 documents",
			b.ok("json_yaml", args{"action": "validate", "input": "a: 1\n---\nb: 2\n"}).Output)
		g := b.failsWith("Invalid JSON at line 2, column 7: ", "json_yaml",
			args{"action": "validate", "input": "{\"a\": 1,\n \"b\": }"})
		assert.EqualValues(t, 2, g.Metadata["line"])
		assert.EqualValues(t, 7, g.Metadata["column"])
		assert.Equal(t, false, g.Metadata["valid"])
		g = b.failsWith("Invalid YAML at line 3, column 1: ", "json_yaml",
			args{"action": "validate", "input": "a: 1\nb: 2\na: 3\n"})
		assert.EqualValues(t, 3, g.Metadata["line"])
	})
	t.Run("action convert both ways", func(t *testing.T) {
		b := newBench(t)
		asYAML := b.ok("json_yaml", args{"action": "convert", "input": json, "output_format": "yaml"}).Output
		assert.True(t, strings.HasPrefix(asYAML, "z: \"no\"\nbig: 123456789012345678901234567890\nlist:\n"), asYAML)
		assert.Equal(t, json,
			b.ok("json_yaml", args{"action": "convert", "input": asYAML, "output_format": "json"}).Output)
	})
	t.Run("action query", func(t *testing.T) {
		b := newBench(t)
		g := b.ok("json_yaml", args{"action": "query", "input": yaml, "query": "$.list[*]"})
		assert.Equal(t, `[1.50,"two"]`, g.Output)
		assert.EqualValues(t, 2, g.Metadata["matches"])
		assert.Equal(t, []any{"$['list'][0]", "$['list'][1]"}, g.Metadata["paths"])
		assert.Equal(t, `["no"]`, b.ok("json_yaml", args{"action": "query", "input": yaml, "query": "$.z"}).Output,
			"an array for one match too")
		assert.Equal(t, `[]`, b.ok("json_yaml", args{"action": "query", "input": yaml, "query": "$.none"}).Output)
		assert.Equal(t, `[1,2]`,
			b.ok("json_yaml", args{"action": "query", "input": "a: 1\n---\na: 2\n", "query": "$.a"}).Output,
			"of each document")
	})
	t.Run("action merge of a stream", func(t *testing.T) {
		g := newBench(t).ok("json_yaml",
			args{"action": "merge", "input": "a: 1\nb: {c: 2, d: 3}\n---\na: null\nb: {d: 4}\n---\ne: 5\n"})
		assert.Equal(t, `{"b":{"c":2,"d":4},"e":5}`, g.Output)
		assert.EqualValues(t, 3, g.Metadata["documents"])
	})
	t.Run("action merge of an array", func(t *testing.T) {
		b := newBench(t)
		assert.Equal(t, `{"a":2,"b":1}`,
			b.ok("json_yaml", args{"action": "merge", "input": `[{"a":1,"b":1},{"a":2}]`}).Output)
		b.fails("Item 2 of the array to merge is not an object", "json_yaml",
			args{"action": "merge", "input": `[{"a":1},2]`})
		b.fails("Merge needs two documents or more, and there is 1", "json_yaml",
			args{"action": "merge", "input": `{"a":1}`})
	})
	t.Run("action merge of files", func(t *testing.T) {
		b := newBench(t)
		b.write("base.yaml", "a: 1\nb: 2\n")
		b.write("conf/local.json", `{"b": null, "c": 3}`)
		assert.Equal(t, `{"a":1,"c":3}`,
			b.ok("json_yaml", args{"action": "merge", "input": "base.yaml\nconf/local.json\n"}).Output)
		b.fails("File not found: none.yaml", "json_yaml", args{"action": "merge", "input": "base.yaml\nnone.yaml"})
	})
	t.Run("input is a file", func(t *testing.T) {
		b := newBench(t)
		b.write("conf/app.yaml", yaml)
		g := b.ok("json_yaml", args{"action": "parse", "input": "conf/app.yaml"})
		assert.Equal(t, json, g.Output)
		assert.Equal(t, "conf/app.yaml", g.Metadata["file"])
		b.fails("File not found: conf/nope.yaml", "json_yaml", args{"action": "parse", "input": "conf/nope.yaml"})
		b.fails("Path not allowed: ../x.json is outside the workspace", "json_yaml",
			args{"action": "parse", "input": "../x.json"})
		b.fails("Input is required", "json_yaml", args{"action": "parse", "input": " \n"})
	})
	t.Run("format default auto", func(t *testing.T) {
		b := newBench(t)
		for text, want := range map[string]string{`{"a": 1}`: "json", `[1]`: "json", `"x"`: "json", `12`: "json",
			"a: 1": "yaml", "{a: 1}": "yaml", "[a, b]": "yaml", "x": "yaml"} {
			assert.Equal(t, want, b.ok("json_yaml", args{"action": "parse", "input": text}).Metadata["format"], text)
		}
		b.write("odd.json", "a: 1\n")
		b.failsWith("Invalid JSON at line 1, column 1: ", "json_yaml", args{"action": "parse", "input": "odd.json"})
	})
	t.Run("format json", func(t *testing.T) {
		b := newBench(t)
		b.failsWith("Invalid JSON at ", "json_yaml", args{"action": "parse", "input": "a: 1", "format": "json"})
		b.ok("json_yaml", args{"action": "parse", "input": `{"a": 1}`, "format": "json"})
	})
	t.Run("format yaml", func(t *testing.T) {
		b := newBench(t)
		assert.Equal(t, `{"a":1}`,
			b.ok("json_yaml", args{"action": "parse", "input": `{"a": 1,}`, "format": "yaml"}).Output)
		b.write("odd.json", "a: 1\n")
		assert.Equal(t, `{"a":1}`,
			b.ok("json_yaml", args{"action": "parse", "input": "odd.json", "format": "yaml"}).Output)
	})
	t.Run("query", func(t *testing.T) {
		b := newBench(t)
		b.fails("Query is required for action query", "json_yaml", args{"action": "query", "input": "{}"})
		g := b.failsWith("Invalid JSONPath query: ", "json_yaml",
			args{"action": "query", "input": "{}", "query": "a.b"})
		assert.Equal(t, "a.b", g.Metadata["query"])
	})
	t.Run("output_format default json", func(t *testing.T) {
		assert.Equal(t, `{"a":1}`, newBench(t).ok("json_yaml", args{"action": "parse", "input": `{ "a" : 1 }`}).Output)
	})
	t.Run("output_format pretty", func(t *testing.T) {
		assert.Equal(t, "{\n  \"a\": [\n    1\n  ]\n}",
			newBench(t).ok("json_yaml",
				args{"action": "parse", "input": `{"a":[1]}`, "output_format": "pretty"}).Output)
	})
	t.Run("output_format yaml", func(t *testing.T) {
		b := newBench(t)
		assert.Equal(t, "a: 1\n---\nb: 2\n",
			b.ok("json_yaml", args{"action": "convert", "input": "a: 1\n---\nb: 2\n", "output_format": "yaml"}).Output)
		assert.Equal(t, "- 1\n",
			b.ok("json_yaml", args{"action": "query", "input": "a: 1", "query": "$.a", "output_format": "yaml"}).Output)
	})
	t.Run("several documents are an array in JSON", func(t *testing.T) {
		assert.Equal(t, `[{"a":1},{"b":2}]`,
			newBench(t).ok("json_yaml", args{"action": "convert", "input": "a: 1\n---\nb: 2\n"}).Output)
	})
	t.Run("what JSON lacks", func(t *testing.T) {
		b := newBench(t)
		b.fails("The number .nan at $['a'] cannot be written as JSON", "json_yaml",
			args{"action": "convert", "input": "a: .nan\n"})
		assert.Equal(t, "a: .nan\n",
			b.ok("json_yaml", args{"action": "convert", "input": "a: .nan\n", "output_format": "yaml"}).Output)
		b.warns("the tag !secret at line 1, column 4 is not kept", "json_yaml",
			args{"action": "convert", "input": "a: !secret x\n"})
	})
	t.Run("too much", func(t *testing.T) {
		b := newBench(t)
		g := b.warns("the first ", "json_yaml",
			args{"action": "parse", "input": `["` + strings.Repeat("x", 3<<20) + `"]`})
		assert.Len(t, g.Output, 2<<20)
	})
	t.Run("v1 source and pretty", func(t *testing.T) {
		g := newBench(t).ok("json_yaml", args{"action": "parse", "source": `[1]`, "pretty": true})
		assert.Equal(t, "[\n  1\n]", g.Output)
		assert.Len(t, g.Metadata["deprecated_parameters"], 2)
	})
}
