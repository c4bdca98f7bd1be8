package search

import (
	"os"

	"golang.org/x/sys/unix"
)

// memoryFile makes a file in memory, nil where there can be none.
func memoryFile() *os.File {
	fd, err := unix.MemfdCreate("output of ripgrep", unix.MFD_CLOEXEC)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), "output of ripgrep")
}
