package sandbox_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/proc"
	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/run/view"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// TestViewWithoutOverlayfs has commands of one view change a copy where overlayfs does not work.
func TestViewWithoutOverlayfs(t *testing.T) {
	testneed.NotShort(t, "needs levels of the sandbox")
	need(t, sandbox.Full)
	dir, err := filepath.EvalSymlinks(testneed.VisibleDir(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("before\n"), 0o600))
	sandbox.NoOverlay(dir)
	v, err := view.New(filepath.Join(t.TempDir(), "view"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = v.Remove() })
	p := sandbox.Policy{Level: sandbox.Full, Workspace: dir, NoCache: true}
	for _, tt := range []struct{ script, says string }{
		{"cat a; echo after >a; mkdir d; mv a d/b", "before\n"},
		{"cat d/b; mv d e", "after\n"}, // overlayfs refuses that
	} {
		r, err := proc.Run(view.With(context.Background(), v), command(p, "/bin/sh", "-c", tt.script))
		require.NoError(t, err)
		assert.Zero(t, r.ExitCode, "%s", r.Stderr)
		assert.Equal(t, tt.says, r.Stdout.String())
	}
	layers := v.Layers()
	require.Len(t, layers, 1)
	assert.True(t, layers[0].Copied)
	assert.FileExists(t, filepath.Join(layers[0].Upper, "e", "b"))
	assert.NoDirExists(t, filepath.Join(dir, "e"))
	data, err := os.ReadFile(filepath.Join(dir, "a"))
	require.NoError(t, err)
	assert.Equal(t, "before\n", string(data))

	require.NoError(t, os.Truncate(filepath.Join(dir, "a"), 2<<30))
	v, err = view.New(filepath.Join(t.TempDir(), "view"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = v.Remove() })
	_, err = proc.Run(view.With(context.Background(), v), command(p, "/bin/true"))
	assert.ErrorContains(t, err, "overlayfs does not work there (not tried), and it cannot be copied: its files hold")
}
