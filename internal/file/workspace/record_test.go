package workspace_test

import (
	"bytes"
	"context"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/file/workspace"
)

// TestRecorderLearnsWhatComes checks the new content's hash and mode and the
// view's context, for every way to change a file.
func TestRecorderLearnsWhatComes(t *testing.T) {
	dir := realTemp(t)
	r := &recorder{}
	root := open(t, dir, workspace.Options{Recorder: r})
	ctx := context.WithValue(context.Background(), tagKey{}, "call")
	w := root.WithContext(ctx)
	big := bytes.Repeat([]byte("x"), 16<<20)
	plant(t, dir, "big", string(big), "swap1", "1", "swap2", "2")
	steps := []struct {
		do   func() error
		hash string
		mode fs.FileMode
	}{
		{func() error { _, err := w.WriteFile("f", []byte("1"), workspace.WriteOptions{}); return err }, "1", 0},
		{func() error { _, err := w.WriteFile("f", []byte("2"), workspace.WriteOptions{}); return err }, "2", 0},
		{func() error { _, err := w.Append("f", []byte("3"), workspace.WriteOptions{}); return err }, "23", 0},
		{func() error { _, err := w.Append("big", []byte("3"), workspace.WriteOptions{}); return err },
			string(big) + "3", 0},
		{func() error {
			return w.Update("f", func([]byte, fs.FileInfo) ([]byte, error) { return []byte("4"), nil })
		}, "4", 0},
		{func() error { return w.Chmod("f", 0o640) }, "", 0o640},
		{func() error {
			return root.Batch(ctx,
				[]workspace.Change{{Kind: workspace.Replace, Path: "f", Data: []byte("5"), Mode: 0o600}})
		}, "5", 0o600},
		{func() error {
			return root.Batch(ctx, []workspace.Change{{Kind: workspace.Create, Path: "g", Data: []byte("6")}})
		}, "6", 0},
		{func() error { return w.Remove("g") }, "", 0},
		{func() error { return w.Symlink("f", "l") }, "f", fs.ModeSymlink},
	}
	for i, s := range steps {
		r.got, r.tags = nil, nil
		require.NoError(t, s.do(), "step %d", i)
		require.Len(t, r.got, 1, "step %d", i)
		if s.hash != "" {
			s.hash = workspace.Hash([]byte(s.hash))
		}
		assert.Equal(t, s.hash, r.got[0].NewHash, "step %d", i)
		assert.Equal(t, s.mode, r.got[0].NewMode, "step %d", i)
		assert.Equal(t, "call", r.tags[0], "step %d", i)
	}

	r.got = nil
	require.NoError(t, w.Rename("swap1", "swap2", true))
	require.Len(t, r.got, 2)
	assert.Equal(t, workspace.Delete, r.got[0].Kind, "what is replaced goes first")
	assert.Equal(t, "2", string(r.got[0].Data))
	assert.Equal(t, workspace.Rename, r.got[1].Kind)
	assert.EqualValues(t, 1, r.got[1].Size)
	assert.Equal(t, workspace.Hash([]byte("1")), r.got[1].NewHash)
	assert.Nil(t, r.got[1].Data)
	assert.False(t, r.got[1].ModTime.IsZero())
}

func TestSymlink(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "f", "1", ".git/config", "")
	w := open(t, dir, workspace.Options{})
	require.NoError(t, w.Symlink("f", "l"))
	require.NoError(t, w.Symlink("/nowhere", "out"))
	target, err := os.Readlink(filepath.Join(dir, "out"))
	require.NoError(t, err)
	assert.Equal(t, "/nowhere", target)
	target, err = w.Readlink("l")
	require.NoError(t, err)
	assert.Equal(t, "f", target)
	_, err = w.Readlink("f")
	requireCode(t, tool.InvalidArgument, err)
	_, err = w.Readlink("gone")
	requireCode(t, tool.NotFound, err)
	_, _, err = w.ReadFile("out", 0)
	requireCode(t, tool.PathOutsideWorkspace, err)
	requireCode(t, tool.AlreadyExists, w.Symlink("g", "l"))
	requireCode(t, tool.NotFound, w.Symlink("g", "d/l"))
	requireCode(t, tool.InvalidArgument, w.Symlink("", "m"))
	requireCode(t, tool.PermissionDenied, w.Symlink("g", ".git/hooks"))
	requireCode(t, tool.PathOutsideWorkspace, w.Symlink("g", "../l"))
	requireCode(t, tool.Blocked, open(t, dir, workspace.Options{Symlinks: workspace.Block}).Symlink("f", "m"))
}

// manyRecorder gets the changes of a batch together.
type manyRecorder struct {
	recorder
	dir     string
	during  []string // the tree, each time
	batches int
}

func (r *manyRecorder) BeforeChanges(ctx context.Context, changes iter.Seq[workspace.Before]) error {
	r.batches++
	for b := range changes {
		data, err := os.ReadFile(filepath.Join(r.dir, "a"))
		if err != nil {
			return err
		}
		r.during = append(r.during, string(data))
		if err := r.BeforeChange(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// A batch recorder gets all changes before one is made, each with the old
// content, whether that was expected, given or neither.
func TestRecorderOfBatches(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "a", "A", "b", "B", "c", "C", "d", "D")
	r := &manyRecorder{dir: dir}
	w := open(t, dir, workspace.Options{Recorder: r})
	changes := []workspace.Change{
		{Kind: workspace.Replace, Path: "a", Data: []byte("new"), Expect: workspace.Hash([]byte("A"))},
		{Kind: workspace.Replace, Path: "b", Data: []byte("new"), Old: []byte("B")},
		{Kind: workspace.Delete, Path: "c"},
		{Kind: workspace.Delete, Path: "d", Expect: workspace.Hash([]byte("D"))},
		{Kind: workspace.Create, Path: "e", Data: []byte("new")},
	}
	refused := append(slices.Clone(changes), workspace.Change{Kind: workspace.Create, Path: "refused"})
	before := tree(t, dir)
	err := w.Batch(context.Background(), refused)
	requireCode(t, tool.Unavailable, err)
	assert.Equal(t, before, tree(t, dir))

	r.got, r.during = nil, nil
	require.NoError(t, w.Batch(context.Background(), changes))
	var kinds []string
	for _, b := range r.got {
		kinds = append(kinds, string(b.Kind)+" "+b.Path+" "+string(b.Data))
	}
	assert.Equal(t, []string{"replace a A", "replace b B", "delete c C", "delete d D", "create e "}, kinds)
	assert.Equal(t, []string{"A", "A", "A", "A", "A"}, r.during)
	assert.Equal(t, 2, r.batches)
	assert.Equal(t, ". drwxr-xr-x\na -rw-r--r-- \"new\"\nb -rw-r--r-- \"new\"\ne -rw-r--r-- \"new\"\n", tree(t, dir))
}

// goneRecorder removes a file before it gets the change.
type goneRecorder struct {
	manyRecorder
	path string
}

func (r *goneRecorder) BeforeChanges(ctx context.Context, changes iter.Seq[workspace.Before]) error {
	if err := os.Remove(r.path); err != nil {
		return err
	}
	return r.manyRecorder.BeforeChanges(ctx, changes)
}

// A batch whose old content is gone changes nothing, and names the path.
func TestABatchWhoseOldContentIsGone(t *testing.T) {
	dir := realTemp(t)
	plant(t, dir, "a", "A", "b", "B")
	r := &goneRecorder{manyRecorder{dir: dir}, filepath.Join(dir, "b")}
	w := open(t, dir, workspace.Options{Recorder: r})
	err := w.Batch(context.Background(), []workspace.Change{
		{Kind: workspace.Replace, Path: "a", Data: []byte("new")}, {Kind: workspace.Replace, Path: "b", Data: []byte("new")}})
	requireCode(t, tool.Conflict, err)
	assert.ErrorContains(t, err, "b")
	assert.Equal(t, ". drwxr-xr-x\na -rw-r--r-- \"A\"\n", tree(t, dir))
}
