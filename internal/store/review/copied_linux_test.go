package review_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/view"
	"github.com/toolhost/toolhost/internal/store/review"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestOpaqueDirectories removes a directory with all below it, also if directories of the same names are made
// again.
func TestOpaqueDirectories(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			a := newArena(t)
			a.copies = kind == "copy"
			a.outside("mkdir -p a/b/c && echo 1 >a/b/f && echo 2 >a/b/c/g")
			changes := a.try("rm -rf a && mkdir -p a/b/c")
			assert.Equal(t, []string{"a/b/c/g", "a/b/f"}, pathsOf(changes))
		})
	}
}

var kinds = []string{"overlay", "copy"}

// TestCopiedConflicts has others change a workspace while a command changes a copy: only what both changed is a
// conflict.
func TestCopiedConflicts(t *testing.T) {
	a := newArena(t)
	a.copies = true
	a.outside("mkdir d && echo 1 >both && echo 1 >theirs && echo 1 >ours && echo 1 >gone && echo 1 >d/x")
	v, err := view.New(filepath.Join(a.t.TempDir(), "view"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = v.Remove() })
	_, err = v.Copy(a.root)
	require.NoError(t, err)
	a.outside("echo other >both; echo other >theirs; echo new >d/new; rm gone")
	a.run(view.With(context.Background(), v), "echo mine >both; echo mine >ours; rm d/x; rm gone")
	changes, err := review.Read(context.Background(), v, a.root)
	require.NoError(t, err)
	assert.Equal(t, []string{"both", "d/x", "ours"}, pathsOf(changes))
	assert.Equal(t, []string{"both"}, changes.Raced())
	_, err = a.commit(changes)
	require.Error(t, err)
	data, err := os.ReadFile(filepath.Join(a.root, "both"))
	require.NoError(t, err)
	assert.Equal(t, "other\n", string(data))
}

// TestCopyIsBounded has no view if a tree is too large to be copied or unreadable, and says why.
func TestCopyIsBounded(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	a := newArena(t)
	a.outside("truncate -s 2G big")
	v, err := view.New(filepath.Join(a.t.TempDir(), "view"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = v.Remove() })
	_, err = v.Copy(a.root)
	assert.ErrorContains(t, err, "its files hold more than 1073741824 bytes")
}

func pathsOf(changes *review.Changes) (paths []string) {
	for i := range changes.List {
		paths = append(paths, changes.List[i].Path)
	}
	return paths
}
