package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// startWriting has the system write the file to the disk and does not wait for
// it. It is a hint: that the file is there is known after a sync alone.
func startWriting(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}
