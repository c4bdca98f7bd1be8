package scaffold_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/source/plugins/scaffold"
)

// TestWrittenFiles compares every byte of the files that need no Go command. UPDATE_GOLDEN=1 rewrites
// them.
func TestWrittenFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my-plugin")
	_, err := scaffold.Write(t.Context(), scaffold.Options{Name: "my-plugin", Dir: dir, SDK: checkout(t)})
	require.NoError(t, err)
	for _, name := range []string{"main.go", "main_test.go", "README.md", ".gitignore"} {
		golden := filepath.Join("testdata", "my-plugin", name+".golden")
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			require.NoError(t, os.WriteFile(golden, got, 0o644))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), name)
	}
}
