package review_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/file/workspace"
)

// A new link follows no link that was put on the way to it; in an unchanged directory it is made.
func TestNoLinkOnTheWayToANewLink(t *testing.T) {
	a := newArena(t)
	a.outside("mkdir d other")
	changes := a.try("ln -s target d/new")
	_, err := a.commit(changes)
	require.NoError(t, err, "control: nobody has come in between")
	target, err := os.Readlink(filepath.Join(a.root, "d/new"))
	require.NoError(t, err)
	assert.Equal(t, "target", target)
	a.undo()
	assert.NoFileExists(t, filepath.Join(a.root, "d/new"))

	a.outside("rmdir d; ln -s other d")
	before := tree(t, a.root)
	err = a.plain.Symlink("target", "d/new") // as a commit does after its check
	require.Error(t, err)
	same(t, before, tree(t, a.root), "the link has come elsewhere")
	require.NoError(t, a.links.Symlink("target", "d/new"), "control: where links are followed")

	w, err := workspace.Open(a.root, workspace.Options{Symlinks: workspace.Block})
	require.NoError(t, err)
	defer w.Close()
	assert.Error(t, w.Symlink("target", "fresh"), "tools make no links where none is followed")
}

// A file with further names is reported, whether they existed before or were made in the view.
func TestFurtherNamesAreSaid(t *testing.T) {
	a := newArena(t)
	a.outside("echo a >a; ln a b; echo c >c; echo d >d; echo e >e; ln e f")
	changes := a.try("echo x >>a; ln c new; echo x >>d; rm e")
	linked := make(map[string]bool)
	for _, c := range changes.List {
		linked[c.Path] = c.Linked
	}
	assert.Equal(t, map[string]bool{"a": true, "d": false, "e": false, "new": true}, linked)
	assert.Contains(t, changes.Diff(), "further names: a has hard links, and is put in as a file of its own")
	_, err := a.commit(changes)
	require.NoError(t, err)
	other, err := os.ReadFile(filepath.Join(a.root, "b"))
	require.NoError(t, err)
	assert.Equal(t, "a\n", string(other), "as it was said")
}
