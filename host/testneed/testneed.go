// Package testneed lets a test say what it needs from the machine. Where the
// need is not met the test is skipped with the reason, and fails instead when
// TOOLHOST_TEST_ALL=1, so that a machine that should have everything cannot
// skip in silence.
package testneed

import (
	"os"
	"os/exec"
	"testing"
)

// Program gives the path of an optional program that the test needs.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "the program "+name+" is not installed")
	}
	return path
}

// Missing ends the test because of reason: skipped, or failed where
// TOOLHOST_TEST_ALL=1.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("TOOLHOST_TEST_ALL") == "1" {
		t.Fatalf("%s, and TOOLHOST_TEST_ALL=1 allows no skip", reason)
	}
	t.Skip(reason)
}
