package launch

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// A rule is for the path that it names, wherever a link on the way leads.
func TestRulesFollowNoLinks(t *testing.T) {
	if LandlockABI() < TruncateABI {
		testneed.Missing(t, "this kernel's Landlock is too old")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(base, "real", "dir"), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(base, "link")))
	for _, path := range []string{"link", "link/dir"} {
		for _, plan := range []*Plan{{Write: []string{filepath.Join(base, path)}},
			{Read: []string{filepath.Join(base, path)}}} {
			fd, err := plan.NewRuleset()
			if !assert.ErrorIs(t, err, syscall.ELOOP, path) {
				_ = syscall.Close(fd)
			}
		}
	}
	for _, plan := range []*Plan{{Write: []string{filepath.Join(base, "real", "dir")}},
		{Device: []string{filepath.Join(base, "link", "dir")}}, {Read: []string{filepath.Join(base, "gone")}}} {
		fd, err := plan.NewRuleset()
		require.NoError(t, err)
		_ = syscall.Close(fd)
	}
}
