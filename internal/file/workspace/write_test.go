package workspace_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

func TestWriteFileOptions(t *testing.T) {
	dir := realTemp(t)
	w := open(t, dir, workspace.Options{})
	plant(t, dir, "old.txt", "old", "d/f", "x")

	_, err := w.WriteFile("no/dir.txt", nil, workspace.WriteOptions{})
	requireCode(t, tool.NotFound, err)
	_, err = w.WriteFile("old.txt", nil, workspace.WriteOptions{Exclusive: true})
	requireCode(t, tool.AlreadyExists, err)
	_, err = w.WriteFile("d", nil, workspace.WriteOptions{})
	requireCode(t, tool.IsDirectory, err)
	_, err = w.WriteFile(".", nil, workspace.WriteOptions{})
	requireCode(t, tool.IsDirectory, err)
	_, err = w.WriteFile("old.txt/below", nil, workspace.WriteOptions{Parents: true})
	requireCode(t, tool.NotADirectory, err)
	_, err = w.WriteFile("old.txt/below/far", nil, workspace.WriteOptions{Parents: true})
	requireCode(t, tool.NotADirectory, err)
	assert.Equal(t, "old", content(t, dir, "old.txt"))

	created, err := w.WriteFile("p/q/new.txt", []byte("new"),
		workspace.WriteOptions{Parents: true, Exclusive: true, Mode: 0o700})
	require.NoError(t, err)
	assert.True(t, created)
	assert.Equal(t, "new", content(t, dir, "p/q/new.txt"))
	requireNoTemp(t, dir)
}

func TestUpdate(t *testing.T) {
	dir := realTemp(t)
	w := open(t, dir, workspace.Options{})
	plant(t, dir, "f", "old")
	path := filepath.Join(dir, "f")
	stamp := time.Now().Add(-time.Hour).Truncate(time.Second)
	require.NoError(t, os.Chtimes(path, stamp, stamp))

	boom := errors.New("boom")
	err := w.Update("f", func([]byte, fs.FileInfo) ([]byte, error) { return []byte("new"), boom })
	require.ErrorIs(t, err, boom)
	require.NoError(t, w.Update("f", func(old []byte, _ fs.FileInfo) ([]byte, error) { return old, nil }))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.True(t, info.ModTime().Equal(stamp), "nothing was written")

	err = w.Update("none", func([]byte, fs.FileInfo) ([]byte, error) { return nil, nil })
	requireCode(t, tool.NotFound, err)
	err = w.Update(".", func([]byte, fs.FileInfo) ([]byte, error) { return nil, nil })
	requireCode(t, tool.IsDirectory, err)
	requireNoTemp(t, dir)
}

// Changes by programs without the lock are detected before they are lost.
func TestUpdateSeesOtherWriters(t *testing.T) {
	for name, interfere := range map[string]func(path string) error{
		"in place": func(path string) error { return os.WriteFile(path, []byte("other"), 0o644) },
		"same size and time": func(path string) error {
			info, err := os.Stat(path)
			return errors.Join(err, os.WriteFile(path, []byte("OLD"), 0o644),
				os.Chtimes(path, info.ModTime(), info.ModTime()))
		},
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".x", []byte("old"), 0o644), os.Rename(path+".x", path))
		},
		"removed": os.Remove,
		"linked away": func(path string) error {
			return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path))
		},
		"chmod": func(path string) error { return os.Chmod(path, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := realTemp(t)
			w := open(t, dir, workspace.Options{})
			plant(t, dir, "f", "old")
			path := filepath.Join(dir, "f")
			var after string
			err := w.Update("f", func(old []byte, _ fs.FileInfo) ([]byte, error) {
				require.NoError(t, interfere(path))
				after = tree(t, dir)
				return []byte("new"), nil
			})
			requireCode(t, tool.Conflict, err)
			assert.Equal(t, after, tree(t, dir))
		})
	}
}

func TestReadLimits(t *testing.T) {
	dir := realTemp(t)
	w := open(t, dir, workspace.Options{})
	plant(t, dir, "f", "12345", "empty", "")
	data, _, err := w.ReadFile("f", 5)
	require.NoError(t, err)
	assert.Equal(t, "12345", string(data))
	_, _, err = w.ReadFile("f", 4)
	requireCode(t, tool.TooLarge, err)
	data, _, err = w.ReadFile("empty", 1)
	require.NoError(t, err)
	assert.Empty(t, data)
	_, _, err = w.ReadFile(".", 0)
	requireCode(t, tool.IsDirectory, err)
	_, err = w.ReadDir("f")
	requireCode(t, tool.NotADirectory, err)
	big := filepath.Join(dir, "big")
	require.NoError(t, os.WriteFile(big, nil, 0o644))
	require.NoError(t, os.Truncate(big, 1<<40))
	_, _, err = w.ReadFile("big", 0)
	requireCode(t, tool.TooLarge, err)
}

func TestRemoveAndRename(t *testing.T) {
	dir := realTemp(t)
	w := open(t, dir, workspace.Options{})
	plant(t, dir, "a", "A", "b", "B", "full/f", "x", "dir2/g", "y")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))

	requireCode(t, tool.IsDirectory, w.Remove("full"))
	requireCode(t, tool.IsDirectory, w.Remove("empty"))
	requireCode(t, tool.NotFound, w.Remove("none"))
	requireCode(t, tool.NotFound, w.Remove("none/none"))
	requireCode(t, tool.Conflict, w.RemoveDir("full"))
	requireCode(t, tool.NotADirectory, w.RemoveDir("a"))
	requireCode(t, tool.PermissionDenied, w.RemoveDir("."))
	requireCode(t, tool.AlreadyExists, w.Rename("a", "b", false))
	requireCode(t, tool.AlreadyExists, w.Rename("a", "full", false))
	requireCode(t, tool.IsDirectory, w.Rename("a", "full", true))
	requireCode(t, tool.NotFound, w.Rename("none", "c", false))
	requireCode(t, tool.NotFound, w.Rename("a", "none/c", false))
	requireCode(t, tool.InvalidArgument, w.Rename("full", "full/inner", false))
	assert.Equal(t, "B", content(t, dir, "b"))

	require.NoError(t, w.Rename("a", "b", true))
	assert.Equal(t, "A", content(t, dir, "b"))
	require.NoError(t, w.Rename("full", "empty/full", false))
	assert.Equal(t, "x", content(t, dir, "empty/full/f"))
	require.NoError(t, w.Rename("dir2/g", "empty/g", false))
	require.NoError(t, w.RemoveDir("dir2"))
	require.NoError(t, w.Rename("b", "B", false))
	requireNoTemp(t, dir)
}

func TestMkdir(t *testing.T) {
	dir := realTemp(t)
	w := open(t, dir, workspace.Options{})
	plant(t, dir, "f", "x")
	made, err := w.Mkdir("a/b/c", true)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "a/b", "a/b/c"}, made)
	made, err = w.Mkdir("a/b/c", true)
	require.NoError(t, err)
	assert.Empty(t, made)
	_, err = w.Mkdir("a/b", false)
	requireCode(t, tool.AlreadyExists, err)
	_, err = w.Mkdir("x/y", false)
	requireCode(t, tool.NotFound, err)
	_, err = w.Mkdir("f", true)
	requireCode(t, tool.AlreadyExists, err)
	_, err = w.Mkdir("f/g", true)
	requireCode(t, tool.NotADirectory, err)
}

func TestLockWaitIsBounded(t *testing.T) {
	dir := realTemp(t)
	first := open(t, dir, workspace.Options{})
	second := open(t, dir, workspace.Options{LockWait: 50 * time.Millisecond})
	plant(t, dir, "f", "old", "d/f", "free")
	err := first.Update("f", func([]byte, fs.FileInfo) ([]byte, error) {
		_, err := second.WriteFile("f", []byte("lost"), workspace.WriteOptions{})
		requireCode(t, tool.Timeout, err)
		_, err = second.WriteFile("d/f", []byte("other directory"), workspace.WriteOptions{})
		require.NoError(t, err)

		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = first.WithContext(ctx).WriteFile("f", []byte("lost"), workspace.WriteOptions{})
		requireCode(t, tool.Cancelled, err)
		return []byte("new"), nil
	})
	require.NoError(t, err)
	assert.Equal(t, "new", content(t, dir, "f"))
}

type recorder struct {
	got  []workspace.Before
	tags []any
}

type tagKey struct{}

func (r *recorder) BeforeChange(ctx context.Context, b workspace.Before) error {
	if strings.HasPrefix(b.Path, "refuse") {
		return tool.Errorf(tool.Unavailable, "no room to remember").Suggest("Make room.")
	}
	r.got, r.tags = append(r.got, b), append(r.tags, ctx.Value(tagKey{}))
	return nil
}

func TestRecorder(t *testing.T) {
	dir := realTemp(t)
	r := &recorder{}
	w := open(t, dir, workspace.Options{Recorder: r})
	_, err := w.WriteFile("d/f", []byte("1"), workspace.WriteOptions{Parents: true})
	require.NoError(t, err)
	_, err = w.Append("d/f", []byte("2"), workspace.WriteOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Update("d/f", func([]byte, fs.FileInfo) ([]byte, error) { return []byte("3"), nil }))
	require.NoError(t, w.Chmod("d/f", 0o600))
	require.NoError(t, w.Rename("d/f", "g", false))
	require.NoError(t, w.Remove("g"))
	require.NoError(t, w.RemoveDir("d"))
	var kinds []string
	for _, b := range r.got {
		kinds = append(kinds, string(b.Kind)+" "+b.Path+" "+string(b.Data)+">"+b.To)
	}
	assert.Equal(t, []string{
		"mkdir d >", "create d/f >", "replace d/f 1>", "replace d/f 12>", "chmod d/f >", "rename d/f >g", "delete g 3>",
		"delete d >",
	}, kinds)

	_, err = w.WriteFile("refused", []byte("1"), workspace.WriteOptions{})
	requireCode(t, tool.Unavailable, err)
	assert.NoFileExists(t, filepath.Join(dir, "refused"))
	requireNoTemp(t, dir)
}
