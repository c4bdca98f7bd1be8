package undo

import (
	"os"

	"golang.org/x/sys/unix"
)

// gone reports whether an open file has lost its name.
func gone(f *os.File) bool {
	var stat unix.Stat_t
	return unix.Fstat(int(f.Fd()), &stat) != nil || stat.Nlink == 0
}
