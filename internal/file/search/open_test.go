package search

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

// The paths were not found by a walk, as if the tree had changed meanwhile.
func TestOpener(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o644))
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "dir"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "dir", "f"), []byte("text"), 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(root, "out")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(root, "link")))
	ws, err := workspace.Open(root, workspace.Options{})
	require.NoError(t, err)
	defer ws.Close()

	quick := newOpener(ws)
	defer quick.close()
	for name, files := range map[string]*opener{"quick": quick, "plain": {ws: ws}} {
		for _, path := range []string{"dir/f", filepath.Join(ws.Root(), "dir/f")} {
			f, _, err := files.open(path)
			require.NoError(t, err, name)
			data, err := io.ReadAll(f)
			require.NoError(t, err, name)
			assert.Equal(t, "text", string(data), name)
			require.NoError(t, f.Close(), name)
		}
		for _, path := range []string{"out/secret", "link", "dir", "missing", "../x", "dir/../../x",
			filepath.Join(outside, "secret")} {
			_, _, err := files.open(path)
			assert.Error(t, err, "%s %s", name, path)
		}
	}
}
