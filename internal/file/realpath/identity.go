package realpath

import (
	"fmt"
	"os"
	"syscall"
)

// Identity tells a file or directory from any other that is there at the time:
// its device and inode. It is empty where the system has none.
func Identity(info os.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}
