package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Files are synced together or, depending on the file system and on what else
// is being written, not at all; files of different file systems never are.
func TestSyncTogether(t *testing.T) {
	var files []*os.File
	for _, name := range []string{"a", "b"} {
		f, err := os.Create(filepath.Join(t.TempDir(), name))
		require.NoError(t, err)
		defer f.Close()
		files = append(files, f)
	}
	if err := syncTogether(files); err != nil {
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
	proc, err := os.Open("/proc/self/stat")
	require.NoError(t, err)
	defer proc.Close()
	assert.False(t, onOneDisk([]*os.File{proc, proc}))
	assert.False(t, onOneDisk([]*os.File{files[0], proc}))
	n, err := waiting()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, n, int64(0))
}
