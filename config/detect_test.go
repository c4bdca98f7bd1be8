package config_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
)

func TestDetect(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		names []string
		has   string
	}{
		"nothing":     {map[string]string{"README.md": ""}, nil, ""},
		"a Go module": {map[string]string{"go.mod": "module x\n"}, []string{"go_test"}, `"go", "test"`},
		"a Taskfile":  {map[string]string{"taskfile.yaml": ""}, []string{"taskfile"}, `path = "taskfile.yaml"`},
		"Task's own order": {map[string]string{"Taskfile.dist.yml": "", "Taskfile.yml": ""}, []string{"taskfile"},
			`path = "Taskfile.yml"`},
		"the usual Taskfile": {map[string]string{"Taskfile.yml": "", ".agent/Taskfile.yml": ""}, nil, ""},
		"scripts": {map[string]string{"package.json": `{"scripts":{"test":"x","build":"y"}}`},
			[]string{"script"}, `["build", "test"]`},
		"scripts of pnpm": {map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "pnpm-lock.yaml": ""},
			[]string{"script"}, `"pnpm", "run"`},
		"odd scripts": {map[string]string{"package.json": `{"scripts":{"a\"${x}":"x"}}`}, []string{"script"},
			`["a\"$${x}"]`},
		"no scripts":       {map[string]string{"package.json": `{"name":"x"}`}, nil, ""},
		"a broken package": {map[string]string{"package.json": `{`}, nil, ""},
		"Python":           {map[string]string{"pyproject.toml": ""}, []string{"pytest"}, `"pytest"`},
		"make": {map[string]string{"Makefile": "X := 1\n.PHONY: all\nall: build\nbuild-x:\n" +
			"\techo a: b\nV=1\n%.o: %.c\nall: more\n"}, []string{"make"}, `["all", "build-x"]`},
		"just": {map[string]string{"justfile": "x := 'y'\nset shell := ['sh']\ndefault:\n  echo a\n" +
			"@test name='a': default\n"}, []string{"just"}, `["default", "test"]`},
		"mise": {map[string]string{"mise.toml": "[tools]\ngo = '1'\n[tasks.build]\nrun = 'x'\n[tasks]\nlint = 'y'\n"}, []string{"mise"},
			`["build", "lint"]`},
		"Rust": {map[string]string{"Cargo.toml": ""}, []string{"cargo_test"}, `"cargo", "test"`},
		"all": {map[string]string{"go.mod": "", "Taskfile.yml": "", "package.json": `{"scripts":{"x":"y"}}`,
			"setup.py": "", "Cargo.toml": ""},
			[]string{"taskfile", "go_test", "script", "pytest", "cargo_test"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := fstest.MapFS{}
			for file, content := range c.files {
				dir[file] = &fstest.MapFile{Data: []byte(content)}
			}
			found := config.Detect(dir)
			assert.Equal(t, c.names, found.Names)
			assert.Contains(t, found.Blocks, c.has)
			text := config.Template(found)
			cfg, diags := config.Parse("agent.hcl", text, config.LoadOptions{})
			require.NoError(t, diags.Err())
			assert.Empty(t, diags, "no warning either")
			formatted, _ := config.Format(text)
			assert.Equal(t, string(formatted), string(text), "it is laid out as fmt does")
			assert.True(t, len(found.Names) > 1 || strings.Count(string(text), "\n") < 40, "it is short")
			tools := strings.Count("\n"+found.Blocks, "\ntool ")
			assert.Len(t, cfg.Tools, tools)
		})
	}
}

// TestTaskfileIsProtected keeps file tools from the file that says what
// commands there are, wherever it lies.
func TestTaskfileIsProtected(t *testing.T) {
	for path, want := range map[string][]string{
		"Taskfile.yml":       {"Taskfile.yml"},
		"./build/Tasks.yml":  {"build/Tasks.yml"},
		"odd[1]*.yml":        {`odd\[1]\*.yml`},
		"../elsewhere.yml":   nil,
		"/etc/elsewhere.yml": nil,
	} {
		cfg, diags := config.Parse("agent.hcl", []byte("taskfile { path = \""+path+"\" }\n"), config.LoadOptions{})
		require.NoError(t, diags.Err())
		assert.Equal(t, want, cfg.Workspace.Protect, path)
	}
}
