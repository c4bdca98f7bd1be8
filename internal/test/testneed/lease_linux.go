package testneed

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Leases skips the test if the kernel does not tell who has a file open, as in a
// sandbox of toolhost.
func Leases(t testing.TB) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	f, err = os.Open(f.Name())
	require.NoError(t, err)
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		Skip(t, "no leases of files are given here: "+err.Error())
	}
}
