// Package testgit runs git for tests, independent of the user's variables and configuration.
package testgit

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolhost/toolhost/internal/test/testneed"
)

// settings are git's variables besides PATH and HOME. Names and dates are fixed, so that commits are.
var settings = map[string]string{
	"LC_ALL": "C", "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.DevNull,
	"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_PAGER": "cat",
	"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_AUTHOR_DATE": "@1000000000 +0000",
	"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_COMMITTER_DATE": "@1000000000 +0000",
}

// Env returns the environment of a git with its own home, and of a script that runs it.
func Env(t testing.TB) []string {
	t.Helper()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	for name, value := range settings {
		env = append(env, name+"="+value)
	}
	return env
}

// Isolate gives the test's process such an environment: for a test of code that runs git itself, or passes
// on its environment.
func Isolate(t testing.TB) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "GIT_") || name == "XDG_CONFIG_HOME" {
			t.Setenv(name, value) // makes the test restore it
			require.NoError(t, os.Unsetenv(name))
		}
	}
	t.Setenv("HOME", t.TempDir())
	for name, value := range settings {
		t.Setenv(name, value)
	}
}

// Command returns a git that has not been started.
func Command(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(testneed.Program(t, "git"), args...)
	cmd.Dir, cmd.Env = dir, Env(t)
	return cmd
}

// Run runs git in a directory and returns its output. The test fails if git does.
func Run(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return Feed(t, dir, nil, args...)
}

// Feed is Run with input.
func Feed(t testing.TB, dir string, input []byte, args ...string) string {
	t.Helper()
	cmd := Command(t, dir, args...)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(input), &errs
	out, err := cmd.Output()
	require.NoError(t, err, "git %v: %s%s", args, out, errs.String())
	return string(out)
}

// Init makes a repository of a directory with everything in it committed.
func Init(t testing.TB, dir string) {
	t.Helper()
	Run(t, dir, "init", "-q", "-b", "main")
	Run(t, dir, "add", "--all")
	Run(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
}
