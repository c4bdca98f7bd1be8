package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is kept stays read-only even in a place of secrets such as another user's home directory, and shows
// nothing hidden.
func TestWhatIsKept(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	ws := filepath.Join(base, "home", "ws")
	require.NoError(t, os.MkdirAll(filepath.Join(ws, "keys"), 0o755))
	for _, name := range []string{"agent.hcl", "keys/agent.hcl", "../key"} {
		require.NoError(t, os.WriteFile(filepath.Join(ws, name), nil, 0o644))
	}
	require.NoError(t, os.Symlink("../key", filepath.Join(ws, "link.hcl")))
	require.NoError(t, os.Symlink("agent.hcl", filepath.Join(ws, "same.hcl")))
	for name, tt := range map[string]struct {
		mask []string
		keep string
		want []string
	}{
		"in the workspace": {keep: "agent.hcl", want: []string{"agent.hcl"}},
		"workspace in a place of secrets": {mask: []string{".."}, keep: "agent.hcl",
			want: []string{"agent.hcl"}},
		"workspace that is a place of secrets": {mask: []string{"."}, keep: "agent.hcl", want: []string{"agent.hcl"}},
		"workspace in two places of secrets": {mask: []string{"..", "../.."}, keep: "agent.hcl",
			want: []string{"agent.hcl"}},
		"in a place of secrets in the workspace": {mask: []string{"keys"}, keep: "keys/agent.hcl"},
		"the same, in a larger one":              {mask: []string{"keys", ".."}, keep: "keys/agent.hcl"},
		"a link in the workspace":                {mask: []string{".."}, keep: "same.hcl", want: []string{"agent.hcl"}},
		"a link out of the workspace":            {mask: []string{".."}, keep: "link.hcl"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Policy{Workspace: ws, CacheDir: ws, Keep: []string{filepath.Join(ws, tt.keep)}}
			for _, mask := range tt.mask {
				p.MaskSecrets = append(p.MaskSecrets, filepath.Join(ws, mask))
			}
			g, err := p.grants()
			require.NoError(t, err)
			var want []string
			for _, name := range tt.want {
				want = append(want, filepath.Join(ws, name))
			}
			assert.Equal(t, want, g.readOnly)
		})
	}
}
