package effects

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testgit"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// Directories with tracked files are found in each form of index that git writes; an unreadable one counts as
// tracked.
func TestTrackedDirectories(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		testneed.Missing(t, "git is not installed")
	}
	for _, c := range []struct {
		name, setup, then string
		unreadable        bool
	}{
		{name: "version 2", setup: "git init -q ."},
		{name: "version 3", setup: "git init -q . && git add -N bin/tool && git update-index --skip-worktree bin/tool"},
		{name: "version 4", setup: "git init -q . && git config index.version 4"},
		{name: "elsewhere", setup: "git init -q --separate-git-dir ../repository ."},
		{name: "split", setup: "git init -q .", then: "git update-index --split-index", unreadable: true},
		{name: "sha256", setup: "git init -q --object-format=sha256 .", unreadable: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tree")
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "a/b/dist/c"), 0o755))
			for _, name := range []string{"bin/tool", "a/b/dist/c/d", "a/b/plain", "z"} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644))
			}
			script := exec.Command("sh", "-c", "set -e; "+c.setup+"; git add -A . ; git update-index -q --refresh; "+c.then)
			script.Dir = dir
			script.Env = testgit.Env(t)
			out, err := script.CombinedOutput()
			require.NoError(t, err, "%s", out)
			found := openTracked(dir)
			assert.True(t, found.in("bin"))
			assert.True(t, found.in("a/b/dist"))
			assert.Equal(t, c.unreadable, found.in("target"))
		})
	}
	assert.False(t, openTracked(t.TempDir()).in("bin"), "there is no repository")
}
