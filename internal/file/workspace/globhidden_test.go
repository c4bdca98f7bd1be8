package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

// A name that starts with a dot needs one in the pattern, as in a shell.
func TestGlobHidden(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{".hidden", "plain", "d/.hidden", "d/plain", ".h/x", ".h/.hidden", "d/e/.hidden"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, 0o644))
	}
	w, err := workspace.Open(root, workspace.Options{})
	require.NoError(t, err)
	defer w.Close()
	for pattern, want := range map[string][]string{
		".h*":        {".h", ".hidden"},
		"*":          {"d", "plain"},
		".*":         {".h", ".hidden"},
		"d/.h*":      {"d/.hidden"},
		"*/.h*":      {"d/.hidden"},
		".h/*":       {".h/x"},
		".*/*":       {".h/x"},
		".?/.*":      {".h/.hidden"},
		"[.]hidden":  {},
		"**/.hidden": {".hidden", "d/.hidden", "d/e/.hidden"},
		"d/**":       {"d", "d/e", "d/plain"},
		"**/x":       {},
	} {
		got, err := w.Glob(t.Context(), pattern, workspace.GlobOptions{NoHidden: true})
		require.NoError(t, err)
		assert.Equal(t, want, got, pattern)
	}
}
