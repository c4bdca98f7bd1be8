package launch

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// dirEntry is the location of a file, existing or not: a directory and a name in it.
type dirEntry struct {
	dir  int
	name string
	path string // of both, absolute and without symlinks
	// mustBeDir is set for a path that ends in a slash.
	mustBeDir bool
}

func (p dirEntry) close() { _ = syscall.Close(p.dir) }

// enter opens the directory that a path of the caller is relative to: its root, or its directory at.
func (c caller) enter(at int, path string) (int, syscall.Errno) {
	if !strings.HasPrefix(path, "/") {
		return c.openOwn(at)
	}
	if !c.waits() {
		return -1, syscall.ESRCH
	}
	return duplicate(c.root)
}

func duplicate(fd int) (int, syscall.Errno) {
	copied, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return copied, number(err)
}

// locate returns the place that a path of the caller names from an open directory.
func (s *supervisor) locate(c caller, base int, path string) (dirEntry, syscall.Errno) {
	trimmed := strings.TrimRight(path, "/")
	if path == "" {
		return dirEntry{}, syscall.ENOENT
	}
	if trimmed == "" {
		return dirEntry{}, syscall.EEXIST // the root directory
	}
	dir, name := filepath.Split(trimmed)
	if len(name) > syscall.NAME_MAX {
		return dirEntry{}, syscall.ENAMETOOLONG
	}
	if dir == "" {
		dir = "."
	}
	fd, errno := c.resolve(base, dir, unix.O_DIRECTORY)
	if errno != 0 {
		return dirEntry{}, errno
	}
	at, ok := s.nameOf(fd)
	if !ok || len(at)+len(name)+1 >= syscall.PathMax { // it could not be reported
		_ = syscall.Close(fd)
		return dirEntry{}, syscall.ENAMETOOLONG
	}
	return dirEntry{dir: fd, name: name, path: filepath.Join(at, name), mustBeDir: trimmed != path}, 0
}

// locateArg is locate for a path in the caller's memory.
func (s *supervisor) locateArg(c caller, at int, address uint64) (dirEntry, syscall.Errno) {
	path, errno := c.text(address, syscall.PathMax)
	if errno != 0 {
		return dirEntry{}, errno
	}
	base, errno := c.enter(at, path)
	if errno != 0 {
		return dirEntry{}, errno
	}
	defer syscall.Close(base)
	return s.locate(c, base, path)
}

// nameOf returns the path of an open file, as the kernel names it here.
func nameOf(fd int) (path string, ok bool) {
	buf := make([]byte, syscall.PathMax)
	length, err := syscall.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf)
	if err != nil || length == len(buf) {
		return "", false
	}
	return string(buf[:length]), true
}

// exists checks whether a place exists and is of the type that the path requires.
func (p dirEntry) exists() syscall.Errno {
	var stat unix.Stat_t
	if err := unix.Fstatat(p.dir, p.name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return number(err)
	}
	if p.mustBeDir && stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return syscall.ENOTDIR
	}
	return 0
}
