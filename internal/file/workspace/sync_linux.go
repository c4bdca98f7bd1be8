package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxWaiting is how many bytes the system may have yet to write for one sync of a
// file system to be faster than one per file.
const maxWaiting = 32 << 20

// startWriting makes the system start writing the file to disk, without waiting. Only a sync confirms it.
func startWriting(f *os.File) {
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
}

// syncTogether does File.Sync for files of one file system in a few large writes. It syncs the whole file system,
// and refuses if that would wait for other programs' writes.
func syncTogether(files []*os.File) error {
	disk, ok := oneDisk(files)
	if ok && disk == unix.TMPFS_MAGIC {
		return nil // in memory
	}
	if n, err := waiting(); !ok || err != nil || n > maxWaiting {
		return errors.ErrUnsupported
	}
	if err := unix.Syncfs(int(files[0].Fd())); err != nil {
		return err
	}
	// Linux before 5.8 reports failed writes only here.
	for _, f := range files {
		if err := unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE); err != nil {
			return err
		}
	}
	return nil
}

// oneDisk returns the type of the file system that all files are on, if its sync is known to cover its files.
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

// waiting returns how many bytes the system has not yet written.
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
