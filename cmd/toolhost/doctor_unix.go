//go:build unix

package main

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// leastFree is how much room a disk needs for the record and for what undo
// keeps, in bytes.
const leastFree = 16 << 20

// unwritable says why nothing can be written in a directory, and what to do;
// "" where something can.
func unwritable(dir string) (problem, next string) {
	if err := unix.Access(dir, unix.W_OK); err != nil {
		if errors.Is(err, unix.EROFS) {
			return dir + " is on a read-only file system",
				"Mount it writable, or use tools that read alone; calls are not recorded."
		}
		return fmt.Sprintf("%s cannot be written: %v", dir, err),
			"Give the user who runs toolhost the right to write there."
	}
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return "", ""
	}
	if free := uint64(fs.Bavail) * uint64(fs.Bsize); free < leastFree {
		return fmt.Sprintf("%s has %d KiB left", dir, free>>10), "Make room: edits, the record and undo need it."
	}
	return "", ""
}
