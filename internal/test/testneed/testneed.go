// Package testneed lets a test say what it needs from the machine. Where the
// need is not met the test is skipped with the reason. What a machine could have
// fails the test instead when TOOLHOST_TEST_ALL=1, so that a machine that should
// have everything cannot skip in silence. No test calls t.Skip by itself.
package testneed

import (
	"bytes"
	"os"
	"os/exec"
	"runtime"
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

// All reports whether every need has to be met: a machine that says so with
// TOOLHOST_TEST_ALL=1 has all optional programs.
func All() bool { return os.Getenv("TOOLHOST_TEST_ALL") == "1" }

// Missing ends the test because of what this machine could have: skipped, or
// failed where All.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if All() {
		t.Fatalf("%s, and TOOLHOST_TEST_ALL=1 allows no skip", reason)
	}
	t.Skip(reason)
}

// Skip ends the test because of what no installation changes, such as another
// user or the hour, or what a machine that runs all tests need not have, such
// as a Docker daemon. It is skipped also where All.
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

// NotSuperuser ends the test for a user whom permission bits do not bind.
func NotSuperuser(t testing.TB) {
	t.Helper()
	if Superuser() {
		Skip(t, "permission bits do not bind this user")
	}
}

// Symlink makes a symlink.
func Symlink(t testing.TB, target, link string) {
	t.Helper()
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
}

// Given gives the value of a variable that names what the repository does not
// have, such as the suite of a specification.
func Given(t testing.TB, variable, what string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		Skip(t, variable+" does not name "+what)
	}
	return value
}

// Child gives the value of a variable that the test with the name parent sets
// where it runs this one in a process of its own.
func Child(t testing.TB, variable, parent string) string {
	t.Helper()
	value := os.Getenv(variable)
	if value == "" {
		Skip(t, parent+" runs this in a process of its own")
	}
	return value
}

// Superuser reports whether the test may do what only the superuser may. In a
// sandbox of level full the root user has no such rights.
func Superuser() bool {
	// Not /proc/self, whose thread may be one that supervises a process without rights.
	status, _ := os.ReadFile("/proc/thread-self/status")
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

// NotShort ends a test that go test -short leaves out, as make test runs it: one
// that takes long, or needs what not every machine has. The reason says which.
// make verify runs it.
func NotShort(t testing.TB, reason string) {
	t.Helper()
	if testing.Short() {
		Skip(t, "not under -short: "+reason)
	}
}

// Long reports whether tests run with their large numbers of repetitions, as
// make long has them.
func Long() bool { return os.Getenv("TOOLHOST_TEST_LONG") == "1" }

// LongOnly ends a test that make long alone runs.
func LongOnly(t testing.TB, reason string) {
	t.Helper()
	if !Long() {
		Skip(t, reason+"; TOOLHOST_TEST_LONG=1 runs it")
	}
}
