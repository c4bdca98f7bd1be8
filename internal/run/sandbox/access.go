package sandbox

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// writable reports whether the user may write to a file.
func writable(path string, _ fs.FileInfo) bool { return unix.Access(path, unix.W_OK) == nil }

func ownedByUser(path string) bool {
	var stat unix.Stat_t
	return unix.Stat(path, &stat) == nil && int(stat.Uid) == os.Geteuid()
}
