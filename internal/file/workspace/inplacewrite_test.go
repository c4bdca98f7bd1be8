package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/rights"
	"github.com/toolhost/toolhost/internal/file/workspace"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// replacements are all ways to change the content of a file with "old", and the new content.
func replacements() map[string]struct {
	change func(w *workspace.Workspace, path string) error
	want   string
} {
	batch := func(w *workspace.Workspace, c workspace.Change) error {
		return w.Batch(context.Background(), []workspace.Change{c})
	}
	return map[string]struct {
		change func(w *workspace.Workspace, path string) error
		want   string
	}{
		"write": {func(w *workspace.Workspace, path string) error {
			_, err := w.WriteFile(path, []byte("another"), workspace.WriteOptions{})
			return err
		}, "another"},
		"append": {func(w *workspace.Workspace, path string) error {
			_, err := w.Append(path, []byte("+"), workspace.WriteOptions{})
			return err
		}, "old+"},
		"update": {func(w *workspace.Workspace, path string) error {
			return w.Update(path, func(old []byte, _ fs.FileInfo) ([]byte, error) { return old[:1], nil })
		}, "o"},
		"batch": {func(w *workspace.Workspace, path string) error {
			return batch(w, workspace.Change{Kind: workspace.Replace, Path: path, Data: []byte("another")})
		}, "another"},
		"batch that expects": {func(w *workspace.Workspace, path string) error {
			return batch(w, workspace.Change{Kind: workspace.Replace, Path: path, Data: []byte("another"),
				Expect: workspace.Hash([]byte("old"))})
		}, "another"},
		"restored": {func(w *workspace.Workspace, path string) error {
			return batch(w.Restoring(), workspace.Change{Kind: workspace.Replace, Path: path,
				Read: func() ([]byte, error) { return []byte("another"), nil }})
		}, "another"},
	}
}

// kept records what a recorder is told.
type kept []workspace.Before

func (k *kept) BeforeChange(_ context.Context, b workspace.Before) error {
	*k = append(*k, b)
	return nil
}

func requireAlone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "a temporary file is left")
}

func isSame(t *testing.T, path string, before fs.FileInfo) bool {
	t.Helper()
	now, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, before.Mode(), now.Mode())
	return os.SameFile(before, now)
}

// No other file can replace it.
func TestInPlace(t *testing.T) {
	for name, stands := range map[string]func(*workspace.Workspace){
		"control":       nil,
		"a mount":       func(w *workspace.Workspace) { w.OnRename(syscall.EBUSY) },
		"another quota": func(w *workspace.Workspace) { w.OnRename(syscall.EXDEV) },
		"sticky":        func(w *workspace.Workspace) { w.OnRename(syscall.EPERM) },
		"its owner": func(w *workspace.Workspace) {
			w.OnGive(&rights.Lost{What: "its owner", Owner: true, Err: syscall.EPERM})
		},
	} {
		for how, r := range replacements() {
			t.Run(name+"/"+how, func(t *testing.T) {
				dir := realTemp(t)
				path := filepath.Join(dir, "f")
				require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
				before, err := os.Stat(path)
				require.NoError(t, err)
				var told kept
				w := open(t, dir, workspace.Options{Recorder: &told})
				if stands != nil {
					stands(w)
				}
				require.NoError(t, r.change(w, "f"))
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Equal(t, r.want, string(data))
				assert.Equal(t, stands != nil, isSame(t, path, before))
				requireAlone(t, path)
				require.Len(t, told, 1)
				assert.Equal(t, "old", string(told[0].Data))
				assert.Equal(t, workspace.Replace, told[0].Kind)
				assert.Equal(t, workspace.Hash([]byte(r.want)), told[0].NewHash)
			})
		}
	}
}

// No file can be created in its directory.
func TestUnwritableDirectory(t *testing.T) {
	testneed.NotSuperuser(t)
	for how, r := range replacements() {
		t.Run(how, func(t *testing.T) {
			dir := realTemp(t)
			path := filepath.Join(dir, "f")
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
			before, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.Chmod(dir, 0o555))
			t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
			w := open(t, dir, workspace.Options{})
			require.NoError(t, r.change(w, "f"))
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, r.want, string(data))
			assert.True(t, isSame(t, path, before))
			_, err = w.WriteFile("new", nil, workspace.WriteOptions{})
			requireCode(t, tool.PermissionDenied, err)
			assert.Equal(t, "cannot write new: its directory is not writable", tool.AsError(err).Message)
		})
	}
}

// The disk fails when the file itself is written.
func TestInPlaceFails(t *testing.T) {
	for how, r := range replacements() {
		t.Run(how, func(t *testing.T) {
			dir := realTemp(t)
			path := filepath.Join(dir, "f")
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
			w := open(t, dir, workspace.Options{})
			w.OnRename(syscall.EBUSY)
			w.OnSync(func(f *os.File) error {
				if strings.Contains(f.Name(), ".toolhost-tmp-") {
					return f.Sync()
				}
				return syscall.ENOSPC
			})
			err := r.change(w, "f")
			requireCode(t, tool.Unavailable, err)
			assert.Equal(t, "cannot write f in place (it is a mount): no space left on the device",
				tool.AsError(err).Message)
			assert.Contains(t, tool.AsError(err).Suggestion, "written back")
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "old", string(data))
			requireAlone(t, path)
		})
	}
}

// A file is not written if the old content could not be restored, or the write
// would go through another name.
func TestInPlaceRefused(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string)
		lost    *rights.Lost // of the new file; nil if it cannot be renamed
		code    tool.Code
		message string
	}{
		"several names": {func(t *testing.T, path string) { require.NoError(t, os.Link(path, path+"2")) }, nil,
			tool.Unsupported, "cannot write f: it is a mount, so that no new file can take its place, and it cannot be " +
				"written in place either: it has other hard links"},
		"too large": {func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, 64<<20+1)) }, nil,
			tool.Unsupported, "cannot write f: it is a mount, so that no new file can take its place, and it cannot be " +
				"written in place: f has 67108865 bytes, more than the limit of 67108864"},
		"list": {func(*testing.T, string) {}, &rights.Lost{What: "its access control list", Err: syscall.EPERM},
			tool.Unsupported, "cannot write f: its access control list cannot be kept: operation not permitted"},
	} {
		for how, r := range replacements() {
			if name == "too large" && how != "write" && how != "batch" {
				continue // it is read first, or appended to in place
			}
			t.Run(name+"/"+how, func(t *testing.T) {
				dir := realTemp(t)
				path := filepath.Join(dir, "f")
				require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
				c.prepare(t, path)
				before, err := os.Stat(path)
				require.NoError(t, err)
				was, err := os.ReadFile(path)
				require.NoError(t, err)
				entries, err := os.ReadDir(dir)
				require.NoError(t, err)
				var told kept
				w := open(t, dir, workspace.Options{Recorder: &told})
				if c.lost != nil {
					w.OnGive(c.lost)
				} else {
					w.OnRename(syscall.EBUSY)
				}
				err = r.change(w, "f")
				requireCode(t, c.code, err)
				assert.Equal(t, c.message, tool.AsError(err).Message)
				assert.Contains(t, tool.AsError(err).Suggestion, "Nothing was changed.")
				assert.True(t, isSame(t, path, before))
				now, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.True(t, bytes.Equal(was, now))
				left, err := os.ReadDir(dir)
				require.NoError(t, err)
				assert.Len(t, left, len(entries))
				if c.lost != nil {
					assert.Empty(t, told, "it is refused before anything is done")
				}
			})
		}
	}
}

// A later file of the batch fails.
func TestInPlaceIsTakenBack(t *testing.T) {
	dir := realTemp(t)
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old "+name), 0o600))
	}
	before, err := os.Stat(filepath.Join(dir, "a"))
	require.NoError(t, err)
	w := open(t, dir, workspace.Options{})
	w.OnRename(syscall.EBUSY)
	err = w.Batch(context.Background(), []workspace.Change{
		{Kind: workspace.Replace, Path: "a", Data: []byte("new a"), Mode: 0o640},
		{Kind: workspace.Create, Path: "c", Data: []byte("c")},
		{Kind: workspace.Replace, Path: "b", Data: []byte("new b"), Mode: 0o640,
			Read: func() ([]byte, error) { // at the end of the preparations
				return []byte("new b"), os.Link(filepath.Join(dir, "b"), filepath.Join(dir, "d"))
			}},
	})
	requireCode(t, tool.Unsupported, err)
	for name, want := range map[string]string{"a": "old a", "b": "old b"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, want, string(data))
	}
	assert.True(t, isSame(t, filepath.Join(dir, "a"), before))
	_, err = os.Stat(filepath.Join(dir, "c"))
	assert.True(t, errors.Is(err, fs.ErrNotExist))
}
