package realpath

import (
	"fmt"
	"os"
	"syscall"
)

// Identity identifies an existing file or directory by device and inode. It is empty if the system has none.
func Identity(info os.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}
