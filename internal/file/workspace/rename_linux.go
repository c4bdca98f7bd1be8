package workspace

import "golang.org/x/sys/unix"

// The flags of renameWith, and the error of a file system that does not support them.
const (
	noReplace  = unix.RENAME_NOREPLACE
	swap       = unix.RENAME_EXCHANGE
	errNoFlags = unix.EINVAL
)

func renameWith(from int, name string, to int, newName string, flags uint) error {
	return unix.Renameat2(from, name, to, newName, flags)
}
