package agentbench_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/toolset/agentbench"
)

func (f *fixture) list(t *testing.T, params string) []string {
	t.Helper()
	return strs(f.succeeds(t, "list_files", params)["files"])
}

func TestListFilesExample(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"src/main.py", "src/utils.py", "src/deep/nested/module.py", "src/README.md",
		"other.py"} {
		f.write(t, name, "x\n")
	}
	data := f.succeeds(t, "list_files", `{"root":"src","glob":"**/*.py"}`)
	assert.Equal(t, map[string]any{"files": []any{"deep/nested/module.py", "main.py", "utils.py"}}, data)
}

func TestListFilesRoot(t *testing.T) {
	f := newFixture(t)
	f.write(t, "a/b/c", "")
	f.write(t, "d", "")
	require.NoError(t, os.Mkdir(filepath.Join(f.root, "empty"), 0o755))
	for params, want := range map[string][]string{
		`{}`:                                    {"a/b/c", "d"},
		`{"root":"."}`:                          {"a/b/c", "d"},
		`{"root":""}`:                           {"a/b/c", "d"},
		`{"root":"a"}`:                          {"b/c"},
		`{"root":"a/"}`:                         {"b/c"},
		`{"root":"./a/b"}`:                      {"c"},
		`{"root":"a/../a/b"}`:                   {"c"},
		`{"root":"empty"}`:                      {},
		fmt.Sprintf(`{"root":%q}`, f.root):      {"a/b/c", "d"},
		fmt.Sprintf(`{"root":%q}`, f.root+"/a"): {"b/c"},
	} {
		assert.Equal(t, want, f.list(t, params), params)
	}
}

func TestListFilesGlob(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"a.py", "b.txt", "c.py", "sub/d.py", "sub/e.txt", "sub/deep/f.py", ".hidden.py",
		"[x].py"} {
		f.write(t, name, "")
	}
	for glob, want := range map[string][]string{
		"*.py":         {".hidden.py", "[x].py", "a.py", "c.py"},
		"**/*.py":      {".hidden.py", "[x].py", "a.py", "c.py", "sub/d.py", "sub/deep/f.py"},
		"sub/*.py":     {"sub/d.py"},
		"sub/**":       {"sub/d.py", "sub/deep/f.py", "sub/e.txt"},
		"*/*.{py,txt}": {"sub/d.py", "sub/e.txt"},
		"[ab].*":       {"a.py", "b.txt"},
		"\\[x\\].py":   {"[x].py"},
		"?.txt":        {"b.txt"},
		"none":         {},
		"sub":          {},
		"./*.txt":      {"b.txt"},
	} {
		assert.Equal(t, want, f.list(t, fmt.Sprintf(`{"glob":%q}`, glob)), glob)
	}
	assert.Equal(t, []string{"deep/f.py"}, f.list(t, `{"root":"sub","glob":"deep/*"}`))
}

func TestListFilesBadGlob(t *testing.T) {
	f := newFixture(t)
	f.write(t, "a/b/c", "")
	f.fails(t, "invalid_argument", "does not parse", "list_files", `{"glob":"[a"}`)
	f.fails(t, "invalid_argument", "..", "list_files", `{"root":"a/b","glob":"../*"}`)
}

func TestListFilesSorted(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"b", "a/z", "a-b", "a.b", "B", "ä", "a/b/c", "a0"} {
		f.write(t, name, "")
	}
	got := f.list(t, `{}`)
	assert.True(t, sort.StringsAreSorted(got), got)
	assert.Len(t, got, 8)
	assert.Equal(t, got, f.list(t, `{}`))
}

func TestListFilesLeavesOut(t *testing.T) {
	f := newFixture(t)
	for _, name := range []string{"a", ".git/config", "sub/.git/HEAD", ".gitignore", "ignored", ".env", "x/.agent/y"} {
		f.write(t, name, "ignored\n")
	}
	f.link(t, "a", "link")
	f.link(t, "sub", "dirlink")
	f.link(t, f.outside(t), "out")
	f.write(t, ".agent/runs/test/logs/tool_step_0001_stdout.txt", "")
	for _, own := range []string{".gitignore", "cache/a", "cache/tasks/a"} {
		f.write(t, ".agent/"+own, "")
	}
	assert.Equal(t, []string{".env", ".gitignore", "a", "ignored", "x/.agent/y"}, f.list(t, `{}`))
	assert.Equal(t, []string{}, f.list(t, `{"root":".git"}`))
	assert.Contains(t, f.list(t, `{"root":".agent"}`), "runs/test/logs/tool_step_0001_stdout.txt")
	f.write(t, ".agent/Taskfile.yml", "")
	f.write(t, ".agent/notes/x.md", "")
	assert.Equal(t, []string{".agent/Taskfile.yml", ".agent/notes/x.md", ".env", ".gitignore", "a", "ignored",
		"x/.agent/y"}, f.list(t, `{}`),
		"what is not of toolhost is listed")
	assert.Equal(t, []string{".agent/notes/x.md"}, f.list(t, `{"glob":".agent/**/*.md"}`))
}

func TestListFilesAtMost1000(t *testing.T) {
	f := newFixture(t)
	for i := range 1000 {
		f.write(t, fmt.Sprintf("d/%04d", i), "")
	}
	data := f.succeeds(t, "list_files", `{}`)
	assert.Len(t, data["files"], 1000)
	assert.NotContains(t, data, "truncated")
	f.write(t, "d/1000", "")
	f.write(t, "d/1001", "")
	e := f.call(t, "list_files", `{}`)
	files := strs(e.Data["files"])
	assert.Len(t, files, 1000)
	assert.Equal(t, "d/0999", files[999])
	assert.Equal(t, true, e.Data["truncated"])
	assert.Equal(t, 2.0, e.Data["files_omitted"])
	assert.NotEmpty(t, e.Data["hint"])
	assert.True(t, e.result.Truncated)
	assert.Len(t, f.list(t, `{"glob":"d/10*"}`), 2)
}

func TestListFilesPathEscape(t *testing.T) {
	f := newFixture(t)
	f.write(t, "a/b", "")
	out := f.outside(t)
	for _, params := range []string{
		`{"root":".."}`, `{"root":"a/../.."}`, `{"root":"/"}`, `{"root":"/etc"}`, fmt.Sprintf(`{"root":%q}`, out),
		fmt.Sprintf(`{"root":%q}`, f.root+"x"),
		`{"glob":"../*"}`, `{"glob":"**/../../*"}`, `{"glob":"/etc/*"}`, `{"root":"a","glob":"../../*"}`,
	} {
		e := f.call(t, "list_files", params)
		require.NotNil(t, e.Error, params)
		assert.Contains(t, []string{"path_escape", "invalid_argument"}, e.Error.Type, params)
		if params != `{"glob":"**/../../*"}` {
			assert.Equal(t, "path_escape", e.Error.Type, params)
		}
	}
}

func TestListFilesSymlinkBlocked(t *testing.T) {
	f := newFixture(t)
	f.write(t, "real/x", "")
	f.link(t, "real", "link")
	f.link(t, f.outside(t), "out")
	for _, root := range []string{"link", "link/", "out", "link/../link"} {
		e := f.fails(t, "symlink_blocked", "symbolic link", "list_files", fmt.Sprintf(`{"root":%q}`, root))
		assert.Equal(t, "symlink", e.Error.Details["reason"])
	}
}

func TestListFilesSymlinksInside(t *testing.T) {
	f := newFixtureOf(t, workspace.Options{}, agentbench.Deps{})
	f.write(t, "real/sub/x", "")
	f.link(t, "real", "link")
	f.link(t, f.outside(t), "out")
	assert.Equal(t, []string{"sub/x"}, f.list(t, `{"root":"link"}`))
	f.fails(t, "path_escape", "outside", "list_files", `{"root":"out"}`)
}

func TestListFilesOtherErrors(t *testing.T) {
	f := newFixture(t)
	f.write(t, "f", "")
	f.fails(t, "file_not_found", "none does not exist", "list_files", `{"root":"none"}`)
	f.fails(t, "not_a_directory", "f is not a directory", "list_files", `{"root":"f"}`)
	f.fails(t, "invalid_argument", "NUL", "list_files", `{"root":"a\u0000b"}`)
}
