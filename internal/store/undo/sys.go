package undo

import (
	"os"

	"golang.org/x/sys/unix"
)

// usable says why a directory cannot be read and written.
func usable(dir string) error { return unix.Access(dir+"/.", unix.R_OK|unix.W_OK|unix.X_OK) }

// gone reports that an open file has no name any more.
func gone(f *os.File) bool {
	var stat unix.Stat_t
	return unix.Fstat(int(f.Fd()), &stat) != nil || stat.Nlink == 0
}
