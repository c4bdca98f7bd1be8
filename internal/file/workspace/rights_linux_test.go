package workspace_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/file/rights"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

const accessList = "system.posix_acl_access"

// sharedList lets user 2000 write and the group only read; the mode says 0660.
func sharedList() []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	const anyone = 1<<32 - 1
	for _, e := range [][3]uint32{{1, 6, anyone}, {2, 6, 2000}, {4, 4, anyone}, {16, 6, anyone}, {32, 0, anyone}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	return list
}

func attribute(t *testing.T, path, name string) []byte {
	t.Helper()
	value := make([]byte, 512)
	n, err := unix.Getxattr(path, name, value)
	if errors.Is(err, unix.ENODATA) {
		return nil
	}
	require.NoError(t, err)
	return value[:n]
}

// A file with an access control list and an attribute is changed in all ways.
func TestAttributesSurvive(t *testing.T) {
	for how, r := range replacements() {
		for name, list := range map[string][]byte{"control": nil, "list": sharedList()} {
			t.Run(how+"/"+name, func(t *testing.T) {
				dir := realTemp(t)
				path := filepath.Join(dir, "f")
				require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
				require.NoError(t, os.Chmod(path, 0o660))
				if list != nil {
					if err := unix.Setxattr(path, accessList, list, 0); errors.Is(err, unix.ENOTSUP) {
						testneed.Missing(t, "the file system has no access control lists")
					} else {
						require.NoError(t, err)
					}
					require.NoError(t, unix.Setxattr(path, "user.note", []byte("a note"), 0))
				}
				before, err := os.Stat(path)
				require.NoError(t, err)
				note := attribute(t, path, "user.note")
				require.NoError(t, r.change(open(t, dir, workspace.Options{}), "f"))
				assert.False(t, isSame(t, path, before), "it was written in place")
				assert.Equal(t, list, attribute(t, path, accessList))
				assert.Equal(t, note, attribute(t, path, "user.note"))
				assert.Equal(t, r.want, content(t, path))
			})
		}
	}
}

// A file is renamed and its content changed.
func TestAttributesGoWithTheFile(t *testing.T) {
	dir := realTemp(t)
	path := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	if err := unix.Setxattr(path, accessList, sharedList(), 0); errors.Is(err, unix.ENOTSUP) {
		testneed.Missing(t, "the file system has no access control lists")
	} else {
		require.NoError(t, err)
	}
	w := open(t, dir, workspace.Options{})
	require.NoError(t, w.Batch(context.Background(),
		[]workspace.Change{{Kind: workspace.Rename, Path: "f", To: "sub/g", Data: []byte("new")}}))
	assert.Equal(t, sharedList(), attribute(t, filepath.Join(dir, "sub/g"), accessList))
	require.NoError(t, w.Batch(context.Background(),
		[]workspace.Change{{Kind: workspace.Chmod, Path: "sub/g", Mode: 0o600}}))
	want := sharedList()
	want[4+3*8+2] = 0 // the mask, as chmod has it
	assert.Equal(t, want, attribute(t, filepath.Join(dir, "sub/g"), accessList))
}

// The old content is kept under another name, which is new or has rights of its own.
func TestACopyHasTheRights(t *testing.T) {
	for _, there := range []bool{false, true} {
		dir := realTemp(t)
		path := filepath.Join(dir, "f")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
		require.NoError(t, os.Chmod(path, 0o660))
		if err := unix.Setxattr(path, accessList, sharedList(), 0); errors.Is(err, unix.ENOTSUP) {
			testneed.Missing(t, "the file system has no access control lists")
		} else {
			require.NoError(t, err)
		}
		if there {
			require.NoError(t, os.WriteFile(path+".bak", []byte("older"), 0o644))
		}
		w := open(t, dir, workspace.Options{})
		_, err := w.WriteFile("f.bak", []byte("old"), workspace.WriteOptions{Like: "f"})
		require.NoError(t, err)
		assert.Equal(t, "old", content(t, path+".bak"))
		assert.Equal(t, sharedList(), attribute(t, path+".bak", accessList))

		w.OnGive(&rights.Lost{What: "its owner", Owner: true, Err: unix.EPERM})
		_, err = w.WriteFile("g.bak", []byte("old"), workspace.WriteOptions{Like: "f"})
		require.NoError(t, err)
		info, err := os.Stat(filepath.Join(dir, "g.bak"))
		require.NoError(t, err)
		assert.EqualValues(t, 0o600, info.Mode(), "for the user alone")
	}
}
