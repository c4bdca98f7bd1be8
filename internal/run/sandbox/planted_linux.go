package sandbox

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt is when a directory was changed last, which no program can set.
func changedAt(info fs.FileInfo) time.Time {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(stat.Ctim.Unix())
	}
	return info.ModTime()
}
