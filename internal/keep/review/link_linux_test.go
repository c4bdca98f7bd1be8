package review_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/files/workspace"
)

// A new link goes through no link that has come to lie on the way to it, and one
// in a directory as it was is made.
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
	err = a.plain.Symlink("target", "d/new") // as a commit does once it has looked
	require.Error(t, err)
	same(t, before, tree(t, a.root), "the link has come elsewhere")
	require.NoError(t, a.links.Symlink("target", "d/new"), "control: where links are followed")

	w, err := workspace.Open(a.root, workspace.Options{Symlinks: workspace.Block})
	require.NoError(t, err)
	defer w.Close()
	assert.Error(t, w.Symlink("target", "fresh"), "tools make no links where none is followed")
}
