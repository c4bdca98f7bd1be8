package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/run/sandbox"
	"github.com/toolhost/toolhost/internal/test/testneed"
)

// needsViews skips a test if commands cannot run in a view: below level full, or if the state
// directory's file system does not support them.
func needsViews(t *testing.T) {
	t.Helper()
	testneed.NotShort(t, "needs user namespaces")
	if report := sandbox.Detect(t.Context()); !report.Full.Works {
		testneed.Missing(t, report.Full.Reason)
	}
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	require.NoError(t, os.Mkdir(work, 0o755))
	cmd := exec.Command(filepath.Join(binaries, "toolhost"), "call", "--dry-run", "touch", "args=x")
	cmd.Dir = work
	cmd.Env = environment(dir, "XDG_STATE_HOME="+dir+"/state", "TOOLHOST_TRUST=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	if strings.Contains(string(out), "is not known") {
		testneed.Missing(t, string(out))
	}
}

// TestReviewScripts runs the whole program with reviewed calls.
func TestReviewScripts(t *testing.T) {
	testneed.NotShort(t, "needs user namespaces")
	needsViews(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/review",
		Setup: func(env *testscript.Env) error {
			home, err := os.MkdirTemp("", "toolhost-home-")
			if err != nil {
				return err
			}
			env.Defer(func() { _ = os.RemoveAll(home) })
			env.Setenv("PATH", binaries+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("HOME", home)
			env.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			env.Setenv("TOOLHOST_TRUST", "1")
			env.Setenv("TOOLHOST_MUTATION", os.Getenv("TOOLHOST_MUTATION")) // see tools/mutate
			return nil
		},
		RequireExplicitExec: true,
	})
}
