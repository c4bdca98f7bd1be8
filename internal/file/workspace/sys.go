package workspace

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags prevent blocking on a pipe and getting a controlling terminal.
const openFlags = os.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// links returns the number of a file's names.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

func mostOpen() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(limit.Cur, math.MaxInt32))
}

// mayWrite reports an error if the file may not be written. A file without any write bit is read-only for root
// too.
func (p *resolvedPath) mayWrite() error {
	if p.info.Mode().Perm()&0o222 == 0 {
		return fs.ErrPermission
	}
	dir, done, err := p.self()
	if err != nil {
		return err
	}
	defer done()
	return unix.Faccessat(int(dir.Fd()), p.name, unix.W_OK, unix.AT_EACCESS)
}

// renameAt renames between two directory handles, each with a single name.
func renameAt(from *resolvedPath, to *resolvedPath, replace bool) error {
	a, done, err := from.self()
	if err != nil {
		return err
	}
	defer done()
	b, done, err := to.self()
	if err != nil {
		return err
	}
	defer done()
	if replace {
		return unix.Renameat(int(a.Fd()), from.name, int(b.Fd()), to.name)
	}
	err = renameWith(int(a.Fd()), from.name, int(b.Fd()), to.name, noReplace)
	if !errors.Is(err, errNoFlags) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	// The file system cannot refuse to replace. The lock excludes other toolhosts.
	if _, err := to.dir.Lstat(to.name); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			return fs.ErrExist
		}
		return err
	}
	return unix.Renameat(int(a.Fd()), from.name, int(b.Fd()), to.name)
}
