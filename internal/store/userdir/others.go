package userdir

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// othersWrite reports whether another user may change a directory. For root, a user's directory counts as
// root's own.
func othersWrite(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	uid := os.Geteuid()
	return info.Mode().Perm()&0o022 != 0 || !ok || uid != 0 && int(stat.Uid) != uid
}

// writable returns why nothing can be made in a directory.
func writable(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return syscall.ENOTDIR
	}
	return unix.Access(dir, unix.W_OK|unix.X_OK)
}
