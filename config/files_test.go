package config

import (
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/argv"
	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	testfile.Write(t, path, text)
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "agent.hcl"), "")
	write(t, filepath.Join(root, "repo", ".git", "HEAD"), "")
	write(t, filepath.Join(root, "repo", "a", "b", "file"), "")
	write(t, filepath.Join(root, "worktree", ".git"), "gitdir: elsewhere")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "dir", "agent.hcl"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(root, "link"), 0o755))
	testneed.Symlink(t, "missing", filepath.Join(root, "link", "agent.hcl"))
	cases := map[string]string{
		".":        "agent.hcl",
		"plain/x":  "agent.hcl",
		"repo/a/b": "", // not beyond the root of the repository
		"repo":     "",
		"worktree": "",
		"dir":      "dir/agent.hcl", // what cannot be read counts
		"link":     "link/agent.hcl",
	}
	for dir, want := range cases {
		got, ok := Find(filepath.Join(root, dir))
		assert.Equal(t, want != "", ok, dir)
		if want != "" {
			assert.Equal(t, filepath.Join(root, want), got, dir)
		}
	}
	write(t, filepath.Join(root, "repo", "agent.hcl"), "")
	got, ok := Find(filepath.Join(root, "repo", "a", "b"))
	assert.True(t, ok)
	assert.Equal(t, filepath.Join(root, "repo", "agent.hcl"), got)
	t.Setenv("HOME", filepath.Join(root, "plain"))
	if home, _ := os.UserHomeDir(); home == filepath.Join(root, "plain") {
		_, ok = Find(filepath.Join(root, "plain", "x"))
		assert.False(t, ok, "the home directory is where the search ends")
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "agent.hcl")
	write(t, file, "workspace { allow = [\"x\"] }\n")
	cfg, diags := Load(file, LoadOptions{Env: noEnv})
	require.Empty(t, diags)
	assert.Equal(t, file, cfg.Path)
	assert.Equal(t, dir, cfg.Dir)
	assert.Equal(t, []string{filepath.Join(dir, "x")}, cfg.Workspace.Allow)
	first := cfg.SHA256
	assert.Len(t, first, 64)
	write(t, file, "workspace { allow = [\"y\"] }\n")
	cfg, _ = Load(file, LoadOptions{Env: noEnv})
	assert.NotEqual(t, first, cfg.SHA256)
}

func TestLoadUnreadable(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.hcl")
	write(t, large, strings.Repeat("#", maxSize+10))
	testneed.Symlink(t, "missing", filepath.Join(dir, "link.hcl"))
	for name, want := range map[string]string{
		filepath.Join(dir, "link.hcl"):   "Cannot read the configuration",
		filepath.Join(dir, "absent.hcl"): "Cannot read the configuration",
		dir:                              "Cannot read the configuration",
		large:                            "File too large",
	} {
		cfg, diags := Load(name, LoadOptions{Env: noEnv})
		require.NotNil(t, cfg)
		require.Len(t, diags, 1)
		assert.Equal(t, want, diags[0].Summary)
		assert.True(t, diags.HasErrors())
		var b strings.Builder
		require.NoError(t, diags.Write(&b, true))
		assert.NotEmpty(t, b.String())
		assert.Equal(t, filepath.Base(name) == "absent.hcl", strings.Contains(b.String(), "toolhost init"), name)
	}
}

// Messages name a file below the working directory by its relative path.
func TestLoadDisplay(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, filepath.Join(dir, "sub", "agent.hcl"), "x {}")
	wd, err := os.Getwd()
	require.NoError(t, err)
	_, diags := Load(filepath.Join(wd, "sub", "agent.hcl"), LoadOptions{Env: noEnv})
	require.Len(t, diags, 1)
	assert.Equal(t, filepath.Join("sub", "agent.hcl"), diags[0].File)
}

func TestDiagnosticsJSON(t *testing.T) {
	_, diags := Parse("agent.hcl",
		[]byte("tool \"x\" {\n  description = \"<x>\"\n  risk = \"readonly\"\n  passthrough { command = \"x\" }\n}"),
		LoadOptions{Env: noEnv})
	var b strings.Builder
	require.NoError(t, diags.WriteJSON(&b))
	var got []map[string]any
	require.NoError(t, json.Unmarshal([]byte(b.String()), &got))
	assert.Equal(t, []map[string]any{{
		"severity": "error", "file": "agent.hcl", "line": 3.0, "column": 10.0, "end_line": 3.0, "end_column": 20.0,
		"snippet": "  risk = \"readonly\"",
		"summary": "Unknown value", "detail": `risk cannot be "readonly".`,
		"suggestion": `Did you mean "read_only"? Use "read_only", "safe_write" or "dangerous".`,
	}}, got)
	require.ErrorContains(t, diags.Err(), "agent.hcl:3")
	b.Reset()
	require.NoError(t, Diagnostics(nil).WriteJSON(&b))
	assert.Equal(t, "[]\n", b.String())
}

func TestFormat(t *testing.T) {
	ugly := "# comment\ntool   \"x\"  {\ndescription=\"caf" +
		"e\u0301\"\n  command {\nargv=[\"a\",param.b ,\n\"c\"]\n}\n}\n"
	want := "# comment\ntool \"x\" {\n  description = \"caf" +
		"e\u0301\"\n  command {\n    argv = [\"a\", param.b,\n    \"c\"]\n  }\n}\n"
	got, diags := Format([]byte(ugly))
	require.Empty(t, diags)
	assert.Equal(t, want, string(got))
	again, diags := Format(got)
	require.Empty(t, diags)
	assert.Equal(t, string(got), string(again))
	for _, broken := range []string{"tool \"x\" {", "a = [", "{\"tool\": {}}", "a = " + strings.Repeat("[", 500),
		"\xff"} {
		got, diags := Format([]byte(broken))
		assert.True(t, diags.HasErrors(), "%q", broken)
		assert.Equal(t, broken, string(got))
	}
}

// inside refuses paths that lead out of the workspace by their names.
type inside struct{}

func (inside) Check(p string, _ argv.Kind) error {
	if path.IsAbs(p) || strings.HasPrefix(path.Clean(p), "..") {
		return errors.New("outside")
	}
	return nil
}
func (inside) Glob(string) ([]string, error)  { return nil, nil }
func (inside) IsDir(string) bool              { return false }
func (inside) CheckTree(string, string) error { return nil }

func TestCheckExamples(t *testing.T) {
	src := `
tool "head" {
  description = "x"
  passthrough {
    command = "head"
    option "-n" { value = "number" }
  }
  example { args = "-n 5 a" }
  example { args = "-x a" }
  reject { args = "/etc/passwd" }
  reject { args = "a" }
}
tool "typed" {
  description = "x"
  param "n" {
    type = integer
    max  = 3
  }
  command { argv = ["x", param.n] }
  example { params = { n = 3 } }
  example { params = { n = 4 } }
  reject { params = { n = "x" } }
  reject {}
  reject { params = { n = 1 } }
}`
	cfg, diags := Parse("agent.hcl", []byte(src), LoadOptions{Env: noEnv})
	require.Empty(t, diags)
	diags = CheckExamples(cfg, inside{})
	var lines []int
	for _, d := range diags {
		lines = append(lines, d.Line)
		assert.NotEmpty(t, d.Suggestion)
	}
	assert.ElementsMatch(t, []int{9, 11, 21, 24}, lines)
	var b strings.Builder
	require.NoError(t, diags.Write(&b, false))
	assert.Contains(t, b.String(), `example { args = "-x a" }`)
}
