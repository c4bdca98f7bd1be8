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
