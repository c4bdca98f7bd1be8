package agentfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRebase(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(base, "a[1]", "b"), 0o755))
	for _, c := range []struct {
		name, from, to string
		globs, want    []string
	}{
		{"the same directory", "a[1]", "a[1]", []string{"x", "**/y"}, []string{"x", "**/y"}},
		{"a directory above", "a[1]", "", []string{"x", "**/y"}, []string{`a\[1]/x`, `a\[1]/**/y`}},
		{"a directory below", "", "a[1]/b", []string{"**/y", "x"}, []string{"**/y", "y"}},
		{"all below is protected", "", "a[1]/b", []string{"a*/b"}, []string{"**"}},
		{"one level below", "", "a[1]/b", []string{"A*/B/z/*"}, []string{"z/*"}},
		{"elsewhere", "a[1]", "c", []string{"x"}, nil},
		{"braces", "", "a[1]/b", []string{"{a,b}/x"}, []string{"**"}},
		{"nothing", "", "a[1]", nil, nil},
	} {
		got := rebase(c.globs, filepath.Join(base, c.from), filepath.Join(base, c.to))
		assert.ElementsMatch(t, c.want, got, c.name)
	}
}

func TestNoProject(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", home)
	for _, dir := range []string{".ssh/deep", "src/project"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	require.NoError(t, os.Symlink(home, filepath.Join(home, "src", "link")))
	for dir, want := range map[string]string{
		home: "home directory", filepath.Dir(home): "home directory lies in it", "/": "root of the file system", "/etc": "system", "/usr": "system",
		filepath.Join(home, ".ssh"): "secrets", filepath.Join(home, ".ssh", "deep"): "secrets", filepath.Join(home, "src", "link"): "home directory",
		filepath.Join(home, "src", "project"): "", filepath.Join(home, "src"): "", filepath.Join(home, "missing"): "",
	} {
		got := NoProject(dir)
		assert.Equal(t, want == "", got == "", "%s: %s", dir, got)
		assert.Contains(t, got, want, dir)
	}
}
