package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// beingWritten tells whether a program has the file open to write into it. f is open
// for reading alone: then a read lease is granted when nobody writes. known is false
// where there are no leases: for files of others, on some file systems, and in
// sandboxes.
func beingWritten(f *os.File) (writing, known bool) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err != nil {
		writing = errors.Is(err, unix.EAGAIN)
		return writing, writing
	}
	_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return false, true
}
