// Package testneed lets a test say what it needs from the machine. If that is
// missing the test is skipped with the reason; with TOOLHOST_TEST_ALL=1 it
// fails if a machine could have it, so that a machine that should have
// everything cannot skip silently. No test calls t.Skip itself.
package testneed

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// Program returns the path of an optional program that the test needs.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "the program "+name+" is not installed")
	}
	return path
}

// All reports whether every need must be met: TOOLHOST_TEST_ALL=1 says that the
// machine has all optional programs.
func All() bool { return os.Getenv("TOOLHOST_TEST_ALL") == "1" }

// Missing ends the test because of something that this machine could have:
// skipped, or failed if All.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if All() {
		t.Fatalf("%s, and TOOLHOST_TEST_ALL=1 allows no skip", reason)
	}
	t.Skip(reason)
}

// Skip ends the test because of something that no installation changes, such as
// another user or the hour, or that a machine that runs all tests need not
// have, such as a Docker daemon. It skips even if All.
func Skip(t testing.TB, reason string) {
	t.Helper()
	t.Skip(reason)
}

// OnlyOn ends the test on all operating systems but one.
func OnlyOn(t testing.TB, system, reason string) {
	t.Helper()
	if runtime.GOOS != system {
		Skip(t, "only on "+system+": "+reason)
	}
}

// NotSuperuser skips the test for a user whom permission bits do not bind.
func NotSuperuser(t testing.TB) {
	t.Helper()
	if Superuser() {
		Skip(t, "permission bits do not bind this user")
	}
}

// Symlink creates a symlink.
func Symlink(t testing.TB, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
}

// Given returns the value of a variable that names something outside the
// repository, such as the suite of a specification.
func Given(t testing.TB, variable, what string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		Skip(t, variable+" does not name "+what)
	}
	return value
}

// Child returns the value of a variable that the test parent sets when it runs
// this one in a separate process.
func Child(t testing.TB, variable, parent string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		Skip(t, parent+" runs this in a process of its own")
	}
	return value
}

// Superuser reports whether the test may do what only the superuser may. In a
// sandbox of level full root has no such rights.
func Superuser() bool {
	// Not /proc/self, whose thread may supervise an unprivileged process.
	status, _ := os.ReadFile("/proc/thread-self/status")
	return os.Geteuid() == 0 && !bytes.Contains(status, []byte("\nCapEff:\t0000000000000000\n"))
}

// VisibleDir creates a directory that a confined process sees, unlike one in
// /tmp, for the duration of the test.
func VisibleDir(t testing.TB) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	cache, _ := os.UserCacheDir() // in a sandbox, the one that can be written
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

// NotShort skips a test with go test -short, as make test runs it: one that
// takes long, or needs what not every machine has. The reason says which. make
// verify runs it.
func NotShort(t testing.TB, reason string) {
	t.Helper()
	if testing.Short() {
		Skip(t, "not under -short: "+reason)
	}
}

// Long reports whether tests run with many repetitions, as in make long.
func Long() bool { return os.Getenv("TOOLHOST_TEST_LONG") == "1" }

// LongOnly skips a test except in make long.
func LongOnly(t testing.TB, reason string) {
	t.Helper()
	if !Long() {
		Skip(t, reason+"; TOOLHOST_TEST_LONG=1 runs it")
	}
}
