package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/config"
	"github.com/toolhost/toolhost/host/tool"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A path is used only if it leads where it did when the file was judged.
func TestPathsAreVerified(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{"ws/plain", "one", "two"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	ws := filepath.Join(base, "ws")
	link, plain := filepath.Join(ws, "link"), filepath.Join(ws, "plain")
	testneed.Symlink(t, "../one", link)
	cfg, diags := config.Parse(filepath.Join(ws, "agent.hcl"),
		[]byte("workspace {\n  allow = [\"link\", \"plain\"]\n}\n"), config.LoadOptions{})
	require.False(t, diags.HasErrors(), "%v", diags)
	cfg.Judge()
	require.NoError(t, cfg.Verify(link, plain))

	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink("../two", link))
	assert.Equal(t, tool.PermissionDenied, tool.CodeOf(cfg.Verify(link)))
	require.NoError(t, os.Remove(plain))
	require.NoError(t, os.Symlink("../one", plain))
	assert.ErrorContains(t, cfg.Verify(plain), "leads to")
}
