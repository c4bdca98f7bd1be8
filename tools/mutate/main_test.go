package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	got, err := parse("# a comment\n\n== a door is open\nfile f.go\ntest ./p ^TestX$\n-- \tif locked {\n-- \n++ \tif false {\n")
	require.NoError(t, err)
	assert.Equal(t, []mutation{{
		line: 3, name: "a door is open", file: "f.go", packages: "./p", test: "^TestX$", snippet: "\tif locked {\n\n",
		instead: "\tif false {\n",
	}}, got)
	for _, wrong := range []string{"file f.go\n", "== x\nelse\n"} {
		_, err := parse(wrong)
		assert.Error(t, err, wrong)
	}
}

func TestApply(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.go")
	m := mutation{name: "x", file: file, snippet: "a\n", instead: "b\n"}
	for source, want := range map[string]string{"a\nc\n": "b\nc\n", "c\n": "", "a\na\n": ""} {
		require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
		got, err := m.apply()
		assert.Equal(t, want, got)
		assert.Equal(t, want == "", err != nil, source)
	}
}

// Each mutation has a text, and its check is in the source as listed.
func TestList(t *testing.T) {
	all, err := parse(mutations)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(all), 40)
	t.Chdir("../..")
	names := make(map[string]bool)
	for _, m := range all {
		_, err := m.apply()
		assert.NoError(t, err, "anyone who changes a check says here what it looks like now")
		assert.False(t, names[m.name], "%q stands twice", m.name)
		names[m.name] = true
		assert.NotEmpty(t, m.file, m.name)
		assert.NotEmpty(t, m.packages, m.name)
		assert.NotEmpty(t, m.test, m.name)
		assert.NotEmpty(t, m.snippet, m.name)
		assert.NotEqual(t, m.snippet, m.instead, m.name)
	}
}
