package agentfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNoProject(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", home)
	for _, dir := range []string{".ssh/deep", "src/project"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	require.NoError(t, os.Symlink(home, filepath.Join(home, "src", "link")))
	for dir, want := range map[string]string{
		home: "home directory", filepath.Dir(home): "home directory lies in it", "/": "root of the file system",
		"/etc": "system", "/usr": "system",
		"/usr/share": "system", "/usr/share/doc": "system", "/usr/local/lib": "system", "/var/lib": "system",
		filepath.Join(home, ".ssh"): "secrets", filepath.Join(home, ".ssh", "deep"): "secrets",
		filepath.Join(home, "src", "link"):    "home directory",
		filepath.Join(home, "src", "project"): "", filepath.Join(home, "src"): "", filepath.Join(home, "missing"): "",
	} {
		got := NoProject(dir)
		assert.Equal(t, want == "", got == "", "%s: %s", dir, got)
		assert.Contains(t, got, want, dir)
	}
}
