package install

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An archive's file is executable or not; it gets no other rights that the archive names.
func TestUnpackedModes(t *testing.T) {
	dir := t.TempDir()
	u, err := newUnpacker(dir, maxBytes)
	require.NoError(t, err)
	defer u.close()
	for name, mode := range map[string]fs.FileMode{"suid": 0o777 | fs.ModeSetuid, "sgid": 0o777 | fs.ModeSetgid,
		"sticky": 0o777 | fs.ModeSticky, "open": 0o666, "closed": 0} {
		require.NoError(t, u.add(name, mode, strings.NewReader("x")))
		info, err := os.Lstat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Zero(t, info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky), name)
		assert.Zero(t, info.Mode().Perm()&0o022, name)
		assert.True(t, info.Mode().IsRegular(), name)
	}
}
