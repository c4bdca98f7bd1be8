package userdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/keep/userdir"
)

func TestOutside(t *testing.T) {
	base := t.TempDir()
	ws, dir := filepath.Join(base, "ws"), filepath.Join(base, "home", "config", "toolhost", "rules")
	require.NoError(t, os.MkdirAll(ws, 0o755))
	require.NoError(t, os.MkdirAll(dir, 0o755))
	assert.NoError(t, userdir.Outside("rules", dir, ws))
	assert.NoError(t, userdir.Outside("rules", dir))
	assert.Error(t, userdir.Outside("rules", dir, dir))
	assert.ErrorContains(t, userdir.Outside("rules", dir, ws, filepath.Join(base, "home")), "cannot be kept in")
	assert.Error(t, userdir.Outside("rules", filepath.Join(ws, "not", "there"), ws))
	if err := os.Symlink(filepath.Join(base, "home"), filepath.Join(base, "link")); err != nil {
		t.Skip("this system makes no symlinks: ", err)
	}
	assert.Error(t, userdir.Outside("rules", dir, filepath.Join(base, "link")), "a tree that is named by a link")
	require.NoError(t, os.Symlink(ws, filepath.Join(base, "home", "config", "planted")))
	assert.Error(t, userdir.Outside("rules", filepath.Join(base, "home", "config", "planted", "x"), ws),
		"a directory behind a link")
}

func TestDir(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "/somewhere")
	t.Setenv("HOME", "/home/me")
	dir, err := userdir.Dir("rules", "rules")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join("toolhost", "rules"),
		filepath.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir)))
}
