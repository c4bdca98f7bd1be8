package workspace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func open(t testing.TB, dir string, opts workspace.Options) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Open(dir, opts)
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

// realTemp returns a temporary directory without symlinks in its path.
func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return dir
}

// plant writes files, given as path and content in turn, below dir.
func plant(t testing.TB, dir string, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, filepath.FromSlash(files[i]))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(files[i+1]), 0o644))
	}
}

func content(t testing.TB, parts ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(data)
}

func requireCode(t testing.TB, code tool.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, tool.CodeOf(err), "%v", err)
	e := tool.AsError(err)
	require.NotEmpty(t, e.Suggestion, e.Message)
}

func requireNoTemp(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		require.False(t, strings.HasPrefix(filepath.Base(path), ".toolhost-tmp-"), path)
		return err
	}))
}

// A name is misspelled in several ways.
func TestWhatIsMissingNamesWhatLiesBeside(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "src/setup.py", "x", "src/secret.txt", "x")
	w := open(t, dir, workspace.Options{Hidden: []string{filepath.Join(dir, "src/secret.txt")}})
	for name, do := range map[string]func(path string) error{
		"read":   func(path string) error { _, _, err := w.ReadFile(path, 0); return err },
		"list":   func(path string) error { _, err := w.ReadDir(path); return err },
		"remove": w.Remove,
		"rename": func(path string) error { return w.Rename(path, "other", false) },
	} {
		for path, want := range map[string]string{"src/setpu.py": `Did you mean "setup.py"?`, "scr/setup.py": `Did you mean "src"?`,
			"src/secrte.txt": "Check the spelling"} {
			err := do(path)
			requireCode(t, tool.NotFound, err)
			assert.Contains(t, tool.AsError(err).Suggestion, want, "%s %s", name, path)
			assert.NotContains(t, tool.AsError(err).Suggestion, "secret", "%s %s", name, path)
		}
	}
}

func TestReadWriteRemove(t *testing.T) {
	dir := realTemp(t)
	w := open(t, dir, workspace.Options{})
	assert.Equal(t, dir, w.Root())

	created, err := w.WriteFile("a/b/c.txt", []byte("one\n"), workspace.WriteOptions{Parents: true})
	require.NoError(t, err)
	assert.True(t, created)
	created, err = w.WriteFile(filepath.Join(dir, "a/b/c.txt"), []byte("two\n"), workspace.WriteOptions{})
	require.NoError(t, err)
	assert.False(t, created)
	created, err = w.Append("a/b/c.txt", []byte("three\n"), workspace.WriteOptions{})
	require.NoError(t, err)
	assert.False(t, created)
	data, info, err := w.ReadFile("a/./b/../b/c.txt", 0)
	require.NoError(t, err)
	assert.Equal(t, "two\nthree\n", string(data))
	assert.EqualValues(t, len(data), info.Size())

	require.NoError(t, w.Update("a/b/c.txt", func(old []byte, _ fs.FileInfo) ([]byte, error) {
		return append([]byte("zero\n"), old...), nil
	}))
	assert.Equal(t, "zero\ntwo\nthree\n", content(t, dir, "a/b/c.txt"))

	require.NoError(t, w.Rename("a/b/c.txt", "a/d.txt", false))
	require.NoError(t, w.RemoveDir("a/b"))
	require.NoError(t, w.Remove("a/d.txt"))
	_, _, err = w.ReadFile("a/d.txt", 0)
	requireCode(t, tool.NotFound, err)
	assert.ErrorIs(t, err, &tool.Error{Code: tool.NotFound})
	requireNoTemp(t, dir)
}

// If another process opened the workspace first, no other directory is taken for it.
func TestAnotherDirectoryInItsPlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ws")
	require.NoError(t, os.Mkdir(dir, 0o755))
	first, err := workspace.Open(dir, workspace.Options{})
	require.NoError(t, err)
	defer first.Close()
	same, err := workspace.Open(dir, workspace.Options{Identity: first.Identity()})
	require.NoError(t, err)
	require.NoError(t, same.Close())
	if first.Identity() == "" {
		testneed.Missing(t, "this system tells directories apart by their names only")
	}
	require.NoError(t, os.Rename(dir, dir+".old"))
	require.NoError(t, os.Mkdir(dir, 0o755))
	_, err = workspace.Open(dir, workspace.Options{Identity: first.Identity()})
	assert.Equal(t, tool.Conflict, tool.CodeOf(err))
}
