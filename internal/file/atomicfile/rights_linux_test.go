package atomicfile

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/file/inplace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

const accessList = "system.posix_acl_access"

// planted creates a file with an access control list and an attribute.
func planted(t *testing.T, path string) (list []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.NoError(t, os.Chmod(path, 0o660))
	list = binary.LittleEndian.AppendUint32(nil, 2)
	const anyone = 1<<32 - 1
	for _, e := range [][3]uint32{{1, 6, anyone}, {2, 6, 2000}, {4, 4, anyone}, {16, 6, anyone}, {32, 0, anyone}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	if err := unix.Setxattr(path, accessList, list, 0); errors.Is(err, unix.ENOTSUP) {
		testneed.Missing(t, "the file system has no access control lists")
	} else {
		require.NoError(t, err)
	}
	if testneed.Superuser() {
		if err := os.Chown(path, 1234, 5678); err != nil {
			testneed.Missing(t, "there are no other users here: "+err.Error())
		}
	}
	return list
}

func requireRights(t *testing.T, path string, list []byte) {
	t.Helper()
	got := make([]byte, 512)
	n, err := unix.Getxattr(path, accessList, got)
	require.NoError(t, err)
	assert.Equal(t, list, got[:n])
	info, err := os.Stat(path)
	require.NoError(t, err)
	if st := info.Sys().(*syscall.Stat_t); testneed.Superuser() {
		assert.Equal(t, []uint32{1234, 5678}, []uint32{st.Uid, st.Gid})
	}
}

// onRename makes renames over other files fail.
func onRename(t *testing.T, err error) {
	rename = func(string, string) error { return &os.LinkError{Op: "rename", Err: err} }
	t.Cleanup(func() { rename = os.Rename })
}

func TestRightsAreKept(t *testing.T) {
	for name, fails := range map[string]error{"control": nil, "a mount": unix.EBUSY, "another quota": unix.EXDEV} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			list := planted(t, path)
			before, err := os.Stat(path)
			require.NoError(t, err)
			if fails != nil {
				onRename(t, fails)
			}
			require.NoError(t, Write(path, []byte("new"), 0o660))
			requireRights(t, path, list)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "new", string(data))
			now, err := os.Stat(path)
			require.NoError(t, err)
			assert.Equal(t, fails != nil, os.SameFile(before, now))
			entries, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			assert.Len(t, entries, 1)
		})
	}
}

// The original may not be read by everyone.
func TestACopyHasTheRights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	list := planted(t, path)
	require.NoError(t, WriteBeside(path+".before", []byte("old"), path))
	requireRights(t, path+".before", list)
}

// The file can neither be replaced nor written.
func TestNotInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.NoError(t, os.Link(path, path+"2"))
	onRename(t, unix.EBUSY)
	err := Write(path, []byte("new"), 0o600)
	require.EqualError(t, err, "no new file can take its place (it is a mount), and it cannot be written in place: "+
		"it has other hard links")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(data))
}

// No file can be created in the directory.
func TestUnwritableDirectory(t *testing.T) {
	testneed.NotSuperuser(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	list := planted(t, path)
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	require.NoError(t, Write(path, []byte("new"), 0o660))
	requireRights(t, path, list)
	var fixed *inplace.Fixed
	err := WriteBeside(path+".before", []byte("old"), path)
	require.ErrorAs(t, err, &fixed)
	assert.ErrorIs(t, err, fs.ErrPermission)
	assert.EqualError(t, err, "its directory is not writable: permission denied")
}
