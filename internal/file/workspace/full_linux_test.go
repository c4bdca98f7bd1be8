package workspace_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

func mount(t *testing.T, options string) string {
	t.Helper()
	dir := realTemp(t)
	if err := syscall.Mount("none", dir, "tmpfs", 0, options); err != nil {
		testneed.Missing(t, "mounting a tmpfs is not permitted: "+err.Error())
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func TestFullDisk(t *testing.T) {
	dir := mount(t, "size=256k")
	w := open(t, dir, workspace.Options{})
	plant(t, dir, "f", "old", "g", "old")
	before := tree(t, dir)
	big := []byte(strings.Repeat("x", 300<<10))
	writes := map[string]func() error{
		"write": func() error { _, err := w.WriteFile("f", big, workspace.WriteOptions{}); return err },
		"create": func() error {
			_, err := w.WriteFile("a/b/new", big, workspace.WriteOptions{Parents: true})
			return err
		},
		"append": func() error { _, err := w.Append("f", big, workspace.WriteOptions{}); return err },
		"update": func() error {
			return w.Update("f", func([]byte, fs.FileInfo) ([]byte, error) { return big, nil })
		},
		"batch": func() error {
			return w.Batch(context.Background(), []workspace.Change{
				{Kind: workspace.Replace, Path: "g", Data: []byte("new")},
				{Kind: workspace.Create, Path: "c/new", Data: []byte("new")},
				{Kind: workspace.Replace, Path: "f", Data: big},
			})
		},
	}
	for name, write := range writes {
		err := write()
		requireCode(t, tool.Unavailable, err)
		assert.ErrorIs(t, err, syscall.ENOSPC, name)
		assert.Contains(t, err.Error(), "no space left", name)
		assert.Equal(t, before, tree(t, dir), name)
		requireNoTemp(t, dir)
	}
	_, err := w.WriteFile("f", []byte("fits"), workspace.WriteOptions{})
	require.NoError(t, err)
}

func TestFullDiskAppendInPlace(t *testing.T) {
	dir := mount(t, "size=17m")
	w := open(t, dir, workspace.Options{})
	path := filepath.Join(dir, "big")
	require.NoError(t, os.WriteFile(path, make([]byte, 16<<20), 0o644))
	_, err := w.Append("big", make([]byte, 3<<20), workspace.WriteOptions{})
	requireCode(t, tool.Unavailable, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.EqualValues(t, 16<<20, info.Size())
}

func TestReadOnlyFileSystem(t *testing.T) {
	dir := mount(t, "size=256k")
	plant(t, dir, "f", "old")
	require.NoError(t, syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	w := open(t, dir, workspace.Options{})
	_, err := w.WriteFile("f", []byte("new"), workspace.WriteOptions{})
	requireCode(t, tool.PermissionDenied, err)
	assert.Contains(t, err.Error(), "file system is read-only")
	_, err = w.WriteFile("new", []byte("new"), workspace.WriteOptions{})
	requireCode(t, tool.PermissionDenied, err)
	requireCode(t, tool.PermissionDenied, w.Remove("f"))
	requireCode(t, tool.PermissionDenied, w.Rename("f", "g", false))
	data, _, err := w.ReadFile("f", 0)
	require.NoError(t, err)
	assert.Equal(t, "old", string(data))
}

func TestRenameAcrossFileSystems(t *testing.T) {
	base := realTemp(t)
	plant(t, base, "ws/f", "x")
	other := mount(t, "size=256k")
	w := open(t, filepath.Join(base, "ws"), workspace.Options{Allow: []string{other}})
	requireCode(t, tool.Unsupported, w.Rename("f", filepath.Join(other, "f"), false))
	assert.Equal(t, "x", content(t, base, "ws/f"))
}
