package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An approval of a file is for its content, also if the workspace is another directory or a copy.
func TestApprovedFilesOfAnotherWorkspace(t *testing.T) {
	own, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	copied, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	below := filepath.Join(own, "sub")
	for _, root := range []string{own, copied, below} {
		for _, name := range []string{"run.sh", "other.sh", ".agent/Taskfile.yml"} {
			path := filepath.Join(root, filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte("version: '3'\n"), 0o644))
		}
	}
	cfg, diags := Parse(filepath.Join(own, "agent.hcl"), []byte(`tool "t" {
  description = "Run. Returns: x."
  network     = "allow"
  command { argv = ["sh", "run.sh"] }
}
tool "u" {
  description = "Run. Returns: x."
  network     = "allow"
  command { argv = ["sh", "sub/other.sh"] }
}
taskfile { network = "allow" }
`), LoadOptions{})
	require.False(t, diags.HasErrors())
	cfg.Digests = cfg.FileDigests()
	sum := cfg.Digests[filepath.Join(own, "run.sh")]
	require.NotEmpty(t, sum)
	tests := []struct {
		name, root string
		words      []string
		want       map[string]string
	}{
		{"its own", own, []string{"sh", "run.sh"}, map[string]string{filepath.Join(own, "run.sh"): sum}},
		{"a copy", copied, []string{"sh", "run.sh"}, map[string]string{filepath.Join(copied, "run.sh"): sum}},
		{"below", below, []string{"sh", "run.sh"}, map[string]string{filepath.Join(below, "run.sh"): sum}},
		{"by its path, from a copy", copied, []string{"sh", filepath.Join(own, "run.sh")},
			map[string]string{filepath.Join(own, "run.sh"): sum}},
		{"another approved file", below, []string{"sh", "other.sh"},
			map[string]string{filepath.Join(below, "other.sh"): cfg.Digests[filepath.Join(below, "other.sh")]}},
		{"one that was not approved", copied, []string{"sh", "other.sh"}, map[string]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, map[string]string(cfg.ApprovedFiles(tt.root, tt.words)))
		})
	}
	for _, root := range []string{own, copied, below} {
		files := cfg.ApprovedTasks(root)
		assert.Contains(t, files, filepath.Join(root, ".agent", "Taskfile.yml"))
		assert.NoError(t, files.Verify(), root)
		require.NoError(t, os.WriteFile(filepath.Join(root, ".agent", "Taskfile.yml"), []byte("tasks: {}\n"), 0o644))
		assert.Error(t, files.Verify(), root)
	}
}
