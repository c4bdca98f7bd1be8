//go:build unix

package worker

import "golang.org/x/sys/unix"

// fileLimit is how many files this process may have open.
func fileLimit() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur > 1<<30 {
		return 0
	}
	return int(limit.Cur)
}

// disk is what is free for this user on the disk of a directory, and how much it
// holds, in bytes; 0, 0 where that is not known.
func disk(dir string) (free, size uint64) {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return 0, 0
	}
	block := uint64(fs.Bsize)
	return uint64(fs.Bavail) * block, uint64(fs.Blocks) * block
}
