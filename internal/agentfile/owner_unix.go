//go:build unix

package agentfile

import (
	"os"
	"syscall"
)

// foreign reports whether a file belongs to another user, one without rights
// over this user's files. What root has put there counts as the system's.
func foreign(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stranger(int(stat.Uid), os.Geteuid())
}

func stranger(owner, user int) bool { return owner != 0 && owner != user }
