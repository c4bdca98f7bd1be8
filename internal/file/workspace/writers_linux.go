package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// beingWritten reports whether a program has the file open for writing. f is open only for reading: a read lease
// is granted if there is no writer. known is false where leases do not work: others' files, some file systems,
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
