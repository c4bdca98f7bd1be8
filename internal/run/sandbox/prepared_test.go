package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOwnDirectoriesAreHiddenOnceMade makes toolhost's configuration directory after a preparation, as a first
// command in a home directory does.
func TestOwnDirectoriesAreHiddenOnceMade(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	own := filepath.Join(home, "config", "toolhost")
	prepared := new(preparation)
	t.Cleanup(prepared.drop)
	secrets, _ := prepared.places(home)
	assert.NotContains(t, secrets, own, "control: it is not there")
	require.NoError(t, os.MkdirAll(own, 0o700))
	secrets, _ = prepared.places(home)
	assert.Contains(t, secrets, own)
}
