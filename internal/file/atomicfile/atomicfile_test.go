package atomicfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/atomicfile"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, mode := range []fs.FileMode{0o600, 0o666} {
		content := []byte(mode.String())
		require.NoError(t, atomicfile.Write(path, content, mode))
		requireOnly(t, path, content, mode)
	}
}

func TestWriteCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "for", "file")
	for _, content := range []string{"a", "b"} {
		require.NoError(t, atomicfile.WriteCache(path, []byte(content)))
		requireOnly(t, path, []byte(content), 0o600)
	}
}

// A directory cannot be replaced.
func TestFailureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "directory")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "with-content"), 0o700))
	require.Error(t, atomicfile.Write(path, []byte("x"), 0o600))
	require.Error(t, atomicfile.WriteCache(path, []byte("x")))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestReadersNeverSeePart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	old, renewed := make([]byte, 1<<20), make([]byte, 1<<20)
	for i := range renewed {
		renewed[i] = 1
	}
	require.NoError(t, atomicfile.WriteCache(path, old))
	done := make(chan error)
	go func() {
		var err error
		for range 50 {
			for _, content := range [][]byte{renewed, old} {
				if err == nil {
					err = atomicfile.WriteCache(path, content)
				}
			}
		}
		done <- err
	}()
	for {
		select {
		case err := <-done:
			require.NoError(t, err)
			return
		default:
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Len(t, data, len(old))
		require.Equal(t, data[0], data[len(data)-1])
	}
}

// requireOnly requires that the file at path has that content and mode, and is
// alone in its directory.
func requireOnly(t *testing.T, path string, content []byte, mode fs.FileMode) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, content, data)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, mode, info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}
