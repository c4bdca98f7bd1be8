package workspace

import "golang.org/x/sys/unix"

// The flags of renameWith, and the error of a file system that does not support them.
const (
	noReplace  = unix.RENAME_EXCL
	swap       = unix.RENAME_SWAP
	errNoFlags = unix.ENOTSUP
)

func renameWith(from int, name string, to int, newName string, flags uint32) error {
	return unix.RenameatxNp(from, name, to, newName, flags)
}
