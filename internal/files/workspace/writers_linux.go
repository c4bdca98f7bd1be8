package workspace

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// awaitWriters waits until no program has the file open to write into it, for at
// most the given time. f is open for reading alone: then a read lease is granted
// when nobody writes. Where there are no leases (other users' files, some file
// systems) it does not wait.
func awaitWriters(f *os.File, atMost time.Duration) {
	for end := time.Now().Add(atMost); ; time.Sleep(time.Millisecond) {
		_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		if err == nil {
			_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		}
		if !errors.Is(err, unix.EAGAIN) || time.Now().After(end) {
			return
		}
	}
}
