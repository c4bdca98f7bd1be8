package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func privateHome(t *testing.T) (home string, own []string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "settings"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "kept"))
	return home, []string{filepath.Join(home, "settings", "toolhost"), filepath.Join(home, "kept", "toolhost")}
}

// Those of toolhost's own directories that a command could make are made before it, and masked.
func TestOwnDirectoriesAreClaimed(t *testing.T) {
	home, own := privateHome(t)
	g, err := (&Policy{ReadWrite: []string{home}, NoCache: true}).grants()
	require.NoError(t, err)
	for _, dir := range own {
		assert.Contains(t, g.secrets, dir)
		info, err := os.Lstat(dir)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), dir)
	}
}

func TestOwnDirectoriesOutsideAreNotMade(t *testing.T) {
	_, own := privateHome(t)
	_, err := (&Policy{ReadWrite: []string{t.TempDir()}, NoCache: true}).grants()
	require.NoError(t, err)
	for _, dir := range own {
		assert.NoDirExists(t, dir)
	}
}

// A command may not replace a file in the place of the directory.
func TestOwnDirectoryThatCannotBeMade(t *testing.T) {
	home, _ := privateHome(t)
	require.NoError(t, os.WriteFile(filepath.Join(home, "kept"), nil, 0o600))
	_, err := (&Policy{ReadWrite: []string{home}, NoCache: true}).grants()
	assert.ErrorContains(t, err, "cannot be made before a command could make it")
}

func TestOwnDirectoriesAreHiddenFromFileTools(t *testing.T) {
	home, own := privateHome(t)
	assert.Subset(t, Settings{}.Hidden(home), own, "though they do not exist yet")
	assert.Empty(t, Settings{}.Hidden(filepath.Join(home, "work")))
}
