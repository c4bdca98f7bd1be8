//go:build unix

package undo

import (
	"os"

	"golang.org/x/sys/unix"
)

// gone reports that an open file has no name any more.
func gone(f *os.File) bool {
	var stat unix.Stat_t
	return unix.Fstat(int(f.Fd()), &stat) != nil || stat.Nlink == 0
}
