// Package testneed lets a test say what it needs from the machine. Where the
// need is not met the test is skipped with the reason, and fails instead when
// TOOLHOST_TEST_ALL=1, so that a machine that should have everything cannot
// skip in silence.
package testneed

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
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

// Superuser reports whether the test may do what only the superuser may. In a
// sandbox of level full the root user has no such rights.
func Superuser() bool {
	status, _ := os.ReadFile("/proc/self/status")
	return os.Geteuid() == 0 && !bytes.Contains(status, []byte("\nCapEff:\t0000000000000000\n"))
}

// VisibleDir makes a directory that a confined process sees, unlike one in
// /tmp, for as long as the test runs.
func VisibleDir(t testing.TB) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	cache, _ := os.UserCacheDir() // in a sandbox, the one of these that can be written
	for _, parent := range []string{"/opt", home, cache} {
		if parent == "" || strings.HasPrefix(parent, "/tmp/") || strings.HasPrefix(parent, "/var/tmp/") {
			continue
		}
		dir, err := os.MkdirTemp(parent, "toolhost-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	Missing(t, "there is no place outside of /tmp where the test may make a directory")
	return ""
}

// Long reports whether tests run with their large numbers of repetitions, as
// make long has them.
func Long() bool { return os.Getenv("TOOLHOST_TEST_LONG") == "1" }
