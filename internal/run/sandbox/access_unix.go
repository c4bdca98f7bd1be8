//go:build unix

package sandbox

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// writable reports whether the user may write to a file.
func writable(path string, _ fs.FileInfo) bool { return unix.Access(path, unix.W_OK) == nil }
