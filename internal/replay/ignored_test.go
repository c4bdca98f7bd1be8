package replay

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/keep/effects"
)

// What was not kept is taken for what it is, and stays so.
func TestWhatWasNotKeptIsNotCompared(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{"then": "1", "now": "1"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, name, "target/debug"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name, ".gitignore"), []byte("target\n"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(root, name, "src"), []byte(content), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(root, "now", "target/debug/new"), []byte("n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "then", "target/old"), []byte("o"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(root, "now", "src"), []byte("2"), 0o644))
	then, err := (&scanner{root: filepath.Join(root, "then")}).scan(t.Context())
	require.NoError(t, err)
	now, err := (&scanner{root: filepath.Join(root, "now")}).scan(t.Context())
	require.NoError(t, err)
	ignored := effects.Ignored(filepath.Join(root, "now"), nil)
	assert.Equal(t, []string{"src"}, then.adopt(now, then.differs(now, 0), ignored))
	assert.NotContains(t, then, "target/old")
	assert.Equal(t, now["target/debug/new"], then["target/debug/new"])
	assert.Equal(t, []string{"src"}, kept([]string{"src", "target", "target/old"}, ignored))
}

// The copy of a workspace may lie in it, and does not hold itself.
func TestACopyInTheWorkspace(t *testing.T) {
	root := t.TempDir()
	to := filepath.Join(root, "tmp", "copy")
	require.NoError(t, os.MkdirAll(to, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "a"), []byte("a"), 0o644))
	require.NoError(t, Copy(t.Context(), root, to, func(string) bool { return false }))
	assert.FileExists(t, filepath.Join(to, "a"))
	assert.NoDirExists(t, filepath.Join(to, "tmp", "copy"))
}
