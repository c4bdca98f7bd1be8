//go:build unix

package proc

import (
	"os"
	"path/filepath"
	"syscall"
)

// unshared reports whether libexec, which lies outside the directory bin of the
// running program, can be written only by who can write bin, or by root: in
// /tmp/bin, libexec would be anybody's.
func unshared(libexec, bin string) bool {
	own, ok := rightsOf(bin)
	if !ok {
		return false
	}
	for _, dir := range []string{libexec, filepath.Dir(libexec)} {
		r, ok := rightsOf(dir)
		if !ok || r.uid != own.uid && r.uid != 0 {
			return false
		}
		if r.writers&^own.writers != 0 || r.writers&0o020 != 0 && r.gid != own.gid {
			return false
		}
	}
	return true
}

// rights are who can write a directory besides its owner.
type rights struct {
	uid, gid uint32
	writers  os.FileMode
}

func rightsOf(path string) (r rights, ok bool) {
	info, err := os.Stat(path)
	if err != nil {
		return r, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return r, false
	}
	return rights{uid: stat.Uid, gid: stat.Gid, writers: info.Mode() & 0o022}, true
}
