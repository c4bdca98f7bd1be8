//go:build unix

package proc

import (
	"os"
	"path/filepath"
	"syscall"
)

// unshared reports whether libexec, which lies outside the directory bin of the
// running program, belongs to who owns bin or to root, and nobody else can
// write there: in /tmp/bin, libexec would be anybody's.
func unshared(libexec, bin string) bool {
	owner, ok := ownerOf(bin)
	if !ok {
		return false
	}
	for _, dir := range []string{libexec, filepath.Dir(libexec)} {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o022 != 0 {
			return false
		}
		if uid, ok := ownerOf(dir); !ok || uid != owner && uid != 0 {
			return false
		}
	}
	return true
}

func ownerOf(path string) (uid uint32, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return stat.Uid, true
}
