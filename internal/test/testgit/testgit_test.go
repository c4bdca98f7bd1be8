package testgit_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testfile"
	"github.com/toolhost/toolhost/internal/test/testgit"
)

// A user may have settings and variables that change git's behaviour or repository.
func TestNothingOfTheUserCounts(t *testing.T) {
	theirs, home := t.TempDir(), t.TempDir()
	testgit.Init(t, theirs)
	before := testgit.Run(t, theirs, "rev-parse", "HEAD")
	testfile.Write(t, filepath.Join(home, ".gitconfig"), "[commit]\n\tgpgsign = true\n[core]\n\thooksPath = hooks\n"+
		"[init]\n\tdefaultObjectFormat = sha256\n[diff]\n\tnoprefix = true\n")
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "GIT_DIR": filepath.Join(theirs, ".git"), "GIT_WORK_TREE": theirs,
		"GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"), "GIT_CONFIG_COUNT": "none", "GIT_INDEX_FILE": "/dev/null",
	} {
		t.Setenv(name, value)
	}
	t.Run("git of the test", func(t *testing.T) {
		dir := t.TempDir()
		testgit.Init(t, dir)
		assert.Equal(t, before, testgit.Run(t, dir, "rev-parse", "HEAD"), "names and dates are fixed")
		assert.Equal(t, "A first\n", testgit.Run(t, dir, "log", "--format=%an %s"))
	})
	t.Run("git of what is tested", func(t *testing.T) {
		testgit.Isolate(t)
		dir := t.TempDir()
		for _, args := range [][]string{{"init", "-q"}, {"commit", "-q", "--allow-empty", "-m", "first"}} {
			out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
		assert.Equal(t, before, testgit.Run(t, dir, "rev-parse", "HEAD"))
	})
	assert.Equal(t, home, os.Getenv("HOME"), "the environment is as it was")
	assert.Equal(t, "none", os.Getenv("GIT_CONFIG_COUNT"))
	assert.Equal(t, before, testgit.Run(t, theirs, "rev-parse", "HEAD"), "their repository has no commit more")
}
