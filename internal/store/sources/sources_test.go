package sources_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/sources"
)

func TestSaid(t *testing.T) {
	k := sources.Kept{State: t.TempDir()}
	said, err := k.LastSaid(sources.Plugin, "one")
	require.NoError(t, err)
	assert.Empty(t, said)
	require.NoError(t, k.Said(sources.Plugin, "one", "first\nof two"))
	require.NoError(t, k.Said(sources.Plugin, "one", "second \xff"))
	require.NoError(t, k.Said(sources.Server, "one", "of a server"))
	require.NoError(t, k.Said(sources.Plugin, "../../one", "of a name that leads elsewhere"))
	said, err = k.LastSaid(sources.Plugin, "one")
	require.NoError(t, err)
	assert.Regexp(t, `^\S+Z first of two\n\S+Z second \x{fffd}\n$`, said)
	for name, want := range map[string]string{"one": "of a server\n", "two": ""} {
		said, err = k.LastSaid(sources.Server, name)
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(said, want), said)
	}
	files, err := filepath.Glob(filepath.Join(k.State, "said", "*"))
	require.NoError(t, err)
	assert.Len(t, files, 3)
	for _, path := range files {
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o600), info.Mode(), path)
	}
	assert.NoError(t, sources.Kept{}.Said(sources.Plugin, "one", "nobody keeps it"))
}

// However much output comes, and from however many at once, what is kept is bounded and has the last lines,
// whole.
func TestMuchIsSaid(t *testing.T) {
	k := sources.Kept{State: t.TempDir()}
	line := strings.Repeat("x", 3000)
	var saying sync.WaitGroup
	for range 4 {
		saying.Go(func() {
			for range 100 {
				assert.NoError(t, k.Said(sources.Plugin, "one", line))
			}
		})
	}
	saying.Wait()
	for i := range 10 {
		require.NoError(t, k.Said(sources.Plugin, "one", fmt.Sprint("last ", i, strings.Repeat("y", 5000))))
	}
	said, err := k.LastSaid(sources.Plugin, "one")
	require.NoError(t, err)
	assert.LessOrEqual(t, len(said), sources.MostSaid)
	assert.Contains(t, said, "last 9y")
	for line := range strings.Lines(said) {
		_, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		assert.True(t, text == strings.Repeat("x", 3000) || strings.HasPrefix(text, "last ") && len(text) > 4000,
			"%.50s, %d", line, len(line))
	}
	entries, err := os.ReadDir(filepath.Join(k.State, "said"))
	require.NoError(t, err)
	assert.Len(t, entries, 2)
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		assert.LessOrEqual(t, info.Size(), int64(sources.MostSaid))
	}
}

func TestRestart(t *testing.T) {
	k := sources.Kept{State: t.TempDir()}
	assert.Zero(t, k.Since(sources.Plugin, "one"))
	assert.Zero(t, sources.Kept{}.Since(sources.Plugin, "one"))
	require.NoError(t, k.Restart(sources.Plugin, "one"))
	first := k.Since(sources.Plugin, "one")
	assert.False(t, first.IsZero())
	assert.Equal(t, first, k.Since(sources.Plugin, "one"), "the same each time")
	assert.Zero(t, k.Since(sources.Server, "one"))
	assert.Zero(t, k.Since(sources.Plugin, "two"))
	require.NoError(t, os.WriteFile(k.File(sources.Plugin, "one"), []byte("tomorrow"), 0o600))
	assert.Zero(t, k.Since(sources.Plugin, "one"))
}
