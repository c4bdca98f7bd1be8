package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Depending on the file system and other writes, files are synced together or
// not at all; files of different file systems never are.
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
	if disk, ok := oneDisk(files); ok && disk == unix.TMPFS_MAGIC {
		require.NoError(t, syncTogether(files), "memory is never waited for")
	}
	proc, err := os.Open("/proc/self/stat")
	require.NoError(t, err)
	defer proc.Close()
	for _, f := range []*os.File{proc, files[0]} {
		_, ok := oneDisk([]*os.File{f, proc})
		assert.False(t, ok)
	}
	n, err := waiting()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, n, int64(0))
}
