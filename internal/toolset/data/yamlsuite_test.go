package data_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
	"github.com/toolhost/toolhost/internal/toolset/data"
)

// TestYAMLSuite runs the YAML test suite: TOOLHOST_YAML_SUITE names a checkout
// of the branch data of the repository yaml/yaml-test-suite. Without it
// TestYAMLEdges has such texts.
func TestYAMLSuite(t *testing.T) {
	dir := testneed.Given(t, "TOOLHOST_YAML_SUITE", "a checkout")
	cases := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "in.yaml" || strings.Contains(path, "/name/") || strings.Contains(path, "/tags/") {
			return err
		}
		cases++
		name, err := filepath.Rel(dir, filepath.Dir(path))
		t.Run(name, func(t *testing.T) { suiteCase(t, filepath.Dir(path)) })
		return err
	}))
	require.Greater(t, cases, 350)
}

// unread are valid cases that are refused because of a fault of the library:
// github.com/yaml/go-yaml issue 44 is about ":" in the names of anchors, and a
// block scalar without indent has no end there.
var unread = map[string]string{
	"2SXE": "mapping values are not allowed",
	"W5VH": "mapping values are not allowed",
	"W4TN": "a block scalar without indent",
}

func suiteCase(t *testing.T, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "in.yaml"))
	require.NoError(t, err)
	docs, err := data.ReadYAML(text)
	if why := unread[filepath.Base(dir)]; why != "" {
		assert.ErrorContains(t, err, why)
		return
	}
	if _, statErr := os.Stat(filepath.Join(dir, "error")); statErr == nil {
		assert.Error(t, err, "%q", text)
		return
	}
	want, readErr := os.ReadFile(filepath.Join(dir, "in.json"))
	if errors.Is(readErr, fs.ErrNotExist) {
		return // JSON has no form for it, such as a mapping as a key
	}
	require.NoError(t, readErr)
	require.NoError(t, err, "%q", text)
	decoder := json.NewDecoder(bytes.NewReader(want))
	for i := 0; ; i++ {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			require.Len(t, docs, i, "%q", text)
			return
		}
		require.NoError(t, err)
		require.Greater(t, len(docs), i, "%q", text)
		got, err := data.WriteJSON(docs[i].Value, "")
		require.NoError(t, err)
		assert.JSONEq(t, string(value), got, "%q", text)
	}
}

// TestYAMLEdges has texts that the library alone misreads.
func TestYAMLEdges(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string // as JSON; refused if nil
	}{
		"reserved directive":         {"%LATER 1 2 # who knows\n---\na: 1\n", []string{`{"a":1}`}},
		"reserved directive, second": {"a: 1\n...\n%LATER x\n---\nb: 2\n", []string{`{"a":1}`, `{"b":2}`}},
		"percent in a text":          {"a: |\n  %YAML 1\n%b: 1\n", nil},
		"percent in a block":         {"a: |\n  x\n  %YAML\n", []string{`{"a":"x\n%YAML\n"}`}},
		"version":                    {"%YAML 1.2 # now\r\n---\r\na: 1\r\n", []string{`{"a":1}`}},
		"version, malformed":         {"%YAML 1.2#\n---\na: 1\n", nil},
		"version, twice":             {"%YAML 1.2\n%YAML 1.2\n---\na: 1\n", nil},
		"version, another":           {"%YAML 2.0\n---\na: 1\n", nil},
		"directive alone":            {"%YAML 1.2\n", nil},
		"directive before an end":    {"%YAML 1.2\n...\n", nil},
		"directive before content":   {"%TAG ! !x\na: 1\n", nil},
		"string by its tag":          {"[! 12, ! true, ! ~, !!int 12]", []string{`["12","true","~",12]`}},
		"anchor, not of ASCII": {"a: &größe {b: 1}\nc: *größe\nd: [*größe, &größe2 3, *größe2]\n",
			[]string{`{"a":{"b":1},"c":{"b":1},"d":[{"b":1},3,3]}`}},
		"anchor before a bracket": {"a: &a[x]\n", nil},
		"alias before a bracket":  {"a: &é 1\nb: *é[\n", nil},
		"anchor in a text":        {"a: &é 'x &é'\nb: *é\n", []string{`{"a":"x &é","b":"x &é"}`}},
		"flow, not indented":      {"a:\n  b: [1,\n  2]\n", nil},
		"flow, indented": {"a:\n  b: [1,\n   2, # ]\n# [\n\n   \"]\", it's]\n",
			[]string{`{"a":{"b":[1,2,"]","it's"]}}`}},
		"flow, closed under its key": {"a:\n  b: [\n    1,\n  ]\n  c: {\n    d: 1\n  }\n",
			[]string{`{"a":{"b":[1],"c":{"d":1}}}`}},
		"flow, tab":       {"- [\n\t1 ]\n", nil},
		"flow at the top": {"[\n1,\n2\n]\n", []string{`[1,2]`}},
		"flow in a list under its key": {"a:\n- [1,\n  2]\n- {b: 1,\n  c: 2}\n",
			[]string{`{"a":[[1,2],{"b":1,"c":2}]}`}},
		"flow in a list within a list": {"- - [1,\n    2]\n  - ? [x\n      ]\n    : 1\n", nil}, // a list as a key
		"quoted, not indented":         {"a: \"x\ny\"\n", nil},
		"quoted, tab":                  {"a: 'x\n\ty'\n", nil},
		"quoted, indented": {"a: \"x\n\n y \\\"z\n  '\"\nb: 'it''s\n  \"'\n",
			[]string{`{"a":"x\ny \"z '","b":"it's \""}`}},
		"quoted, after properties":         {"a: &x !!str\n  \"b\n  c\"\n", []string{`{"a":"b c"}`}},
		"quoted, key of a list":            {"- ? \"a\n    b\"\n  : 1\n", []string{`[{"a b":1}]`}},
		"block, long blank line":           {"a: |\n   \n  x\n", nil},
		"block, long blank line, indented": {"a: |2\n   \n  x\n", []string{`{"a":" \nx\n"}`}},
		"block, empty":                     {"a: |\n     \nb: 1\n", []string{`{"a":"","b":1}`}},
		"block at the top":                 {"|\nx\ny\n", []string{`"x\ny\n"`}},
		"block at the top, with an end":    {"--- |\nx\n...\n--- y\n", nil},
		"block at the top, indented":       {"--- |\n x\n...\n--- y\n", []string{`"x\n"`, `"y"`}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.want == nil {
				_, err := data.ReadYAML([]byte(c.text))
				require.Error(t, err)
				return
			}
			assert.Equal(t, c.want, toJSON(t, c.text))
		})
	}
}

func TestYAMLNotesReservedDirectives(t *testing.T) {
	docs, err := data.ReadYAML([]byte("--- 1\n...\n%LATER\n--- 2\n"))
	require.NoError(t, err)
	require.Len(t, docs, 2)
	assert.Empty(t, docs[0].Notes)
	assert.Equal(t, []string{"the directive %LATER in line 3 is not known"}, docs[1].Notes)
}
