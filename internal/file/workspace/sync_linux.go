package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxWaiting is how many bytes may wait in the whole system for being written,
// for a sync of a file system to be quicker than one of many files.
const maxWaiting = 32 << 20

// startWriting has the system write the file to the disk and does not wait for
// it. It is a hint: that the file is there is known after a sync alone.
func startWriting(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

// syncTogether does for files of one file system what File.Sync does for each,
// in a few large writes instead of several for each file. It syncs all of the
// file system, and refuses where that would be to wait for what others write.
func syncTogether(files []*os.File) error {
	disk, ok := oneDisk(files)
	if ok && disk == unix.TMPFS_MAGIC {
		return nil // it is memory
	}
	if n, err := waiting(); !ok || err != nil || n > maxWaiting {
		return errors.ErrUnsupported
	}
	if err := unix.Syncfs(int(files[0].Fd())); err != nil {
		return err
	}
	// Linux before 5.8 does not report failed writes there, but here.
	for _, f := range files {
		if err := unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE); err != nil {
			return err
		}
	}
	return nil
}

// oneDisk gives the kind of the file system that all files are on. It has to
// be one whose sync is known to be that of its files.
func oneDisk(files []*os.File) (kind uint32, ok bool) {
	var fs unix.Statfs_t
	if unix.Fstatfs(int(files[0].Fd()), &fs) != nil {
		return 0, false
	}
	kind = uint32(fs.Type)
	switch kind {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
	default:
		return kind, false
	}
	var first, other unix.Stat_t
	for i, f := range files {
		if unix.Fstat(int(f.Fd()), &other) != nil {
			return kind, false
		}
		if i == 0 {
			first = other
		}
		if other.Dev != first.Dev {
			return kind, false
		}
	}
	return kind, true
}

// waiting is how many bytes the system has still to write.
func waiting() (total int64, err error) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	for _, name := range []string{"Dirty:", "Writeback:"} {
		_, rest, _ := bytes.Cut(data, []byte("\n"+name))
		var kib int64
		if _, err := fmt.Sscan(string(rest[:min(len(rest), 32)]), &kib); err != nil {
			return 0, err
		}
		total += kib << 10
	}
	return total, nil
}
