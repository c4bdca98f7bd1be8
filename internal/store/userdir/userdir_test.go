package userdir_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/store/userdir"
	"github.com/toolhost/toolhost/internal/test/testneed"
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
	testneed.Symlink(t, filepath.Join(base, "home"), filepath.Join(base, "link"))
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

func TestState(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("XDG_STATE_HOME", filepath.Join(base, "kept"))
	ws := filepath.Join(base, "My Project ü")
	require.NoError(t, os.MkdirAll(ws, 0o755))
	dir, err := userdir.State(ws)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(base, "kept", "toolhost"), filepath.Dir(dir))
	assert.Regexp(t, `^my-project---[0-9a-f]{20}$`, filepath.Base(dir))
	assert.NoDirExists(t, dir)
	other, err := userdir.State(filepath.Join(base, "my project ü"))
	require.NoError(t, err)
	assert.NotEqual(t, dir, other)
	if os.Symlink(ws, filepath.Join(base, "link")) == nil {
		same, err := userdir.State(filepath.Join(base, "link"))
		require.NoError(t, err)
		assert.Equal(t, dir, same)
	}
	for _, tree := range []string{base, filepath.Join(base, "kept"), filepath.Dir(dir)} {
		_, err = userdir.State(ws, tree)
		assert.ErrorContains(t, err, "where tools could use it", tree)
	}
	_, err = userdir.State(base)
	assert.ErrorContains(t, err, "where tools could use it", "a workspace that could bring it along")
}

// What is masked in the home directory is out of reach of tools that may use all of it; what another tree or
// the workspace could contain is not.
func TestStateInAHomeThatToolsMayUse(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, ".local", "state"))
	ws := filepath.Join(home, "ws")
	require.NoError(t, os.MkdirAll(ws, 0o755))
	for _, trees := range [][]string{{home}, {ws, home}, {ws, filepath.Dir(home)}, {filepath.Dir(home)}} {
		dir, err := userdir.State(trees[0], trees[1:]...)
		require.NoError(t, err, "%v", trees)
		assert.Equal(t, filepath.Join(home, ".local", "state", "toolhost"), filepath.Dir(dir))
	}
	_, err = userdir.State(ws, home, filepath.Join(home, ".local"))
	assert.ErrorContains(t, err, "where tools could use it")
	t.Setenv("XDG_STATE_HOME", filepath.Join(ws, "state"))
	_, err = userdir.State(ws, home)
	assert.ErrorContains(t, err, "where tools could use it")
	t.Setenv("HOME", filepath.Join(home, "me"))
	t.Setenv("USERPROFILE", filepath.Join(home, "me"))
	_, err = userdir.State(home)
	assert.ErrorContains(t, err, "where tools could use it", "the state lies beside the home directory")
}

func TestStateWithoutAHome(t *testing.T) {
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "LOCALAPPDATA", "APPDATA"} {
		t.Setenv(name, "")
	}
	_, err := userdir.State(t.TempDir())
	assert.ErrorContains(t, err, "there is no place for")
	t.Setenv("XDG_STATE_HOME", "relative") // ignored, by the specification
	_, err = userdir.State(t.TempDir())
	assert.ErrorContains(t, err, "there is no place for")
}

func TestStateThatIsNotUsable(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_STATE_HOME", base)
	ws := t.TempDir()
	dir, err := userdir.State(ws)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	for _, open := range []string{dir, filepath.Dir(dir)} {
		require.NoError(t, os.Chmod(open, 0o777))
		_, err = userdir.State(ws)
		assert.ErrorContains(t, err, open+" is not a directory that only you may write to")
		require.NoError(t, os.Chmod(open, 0o700))
	}
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.Symlink(t.TempDir(), dir))
	_, err = userdir.State(ws)
	assert.ErrorContains(t, err, "is not a directory that only you may write to")
	require.NoError(t, os.Remove(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	_, err = userdir.State(ws)
	assert.Error(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(base, "file"), nil, 0o600))
	t.Setenv("XDG_STATE_HOME", filepath.Join(base, "file"))
	_, err = userdir.State(ws)
	assert.ErrorContains(t, err, "cannot be written")
	t.Setenv("XDG_STATE_HOME", "/proc/nothing")
	if runtime.GOOS == "linux" && !testneed.Superuser() {
		_, err = userdir.State(ws)
		assert.ErrorContains(t, err, "cannot be written")
	}
}
