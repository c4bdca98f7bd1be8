//go:build !linux

package testneed

import "testing"

// Leases skips the test: the system does not tell who has a file open.
func Leases(t testing.TB) {
	t.Helper()
	Skip(t, "the system gives no leases of files")
}
