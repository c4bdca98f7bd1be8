package userdir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/store/userdir"
)

func TestKnown(t *testing.T) {
	dir := t.TempDir()
	assert.NoError(t, userdir.Known("it", filepath.Join(dir, "missing"), 1))
	assert.NoError(t, userdir.Known("it", dir, 1), "without a file it is format 1")
	for text, code := range map[string]tool.Code{
		"1\n": "", "2": "", "3\n": tool.Unsupported, "99": tool.Unsupported, "": tool.Unavailable,
		"new": tool.Unavailable,
		"-1":  tool.Unavailable, "1.5": tool.Unavailable, "99999999999999999999": tool.Unavailable,
	} {
		file := filepath.Join(dir, "format")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		err := userdir.Known("it", dir, 2)
		assert.Equal(t, code, tool.CodeOf(err), "%q", text)
		if err != nil {
			assert.Contains(t, err.Error(), file)
			assert.Contains(t, tool.AsError(err).Suggestion, "move "+dir+" away")
		}
	}
}

// What tools may not see stays hidden, whatever made it.
func TestPrivateWhereANewerToolhostWrote(t *testing.T) {
	base := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", base)
	t.Setenv("HOME", base)
	before := userdir.Private()
	dir, err := userdir.Dir("approvals", "")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "format"), []byte("2\n"), 0o600))
	_, err = userdir.Dir("approvals", "trust")
	assert.Equal(t, tool.Unsupported, tool.CodeOf(err))
	assert.Equal(t, tool.Unsupported, tool.CodeOf(userdir.Usable()))
	assert.Equal(t, before, userdir.Private())
}
