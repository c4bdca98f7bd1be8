package launch

import (
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	procMagic = 0x9fa0
	mostLinks = 40 // as many as the kernel follows
)

// walk opens a path from a directory with O_PATH where the kernel cannot at once: paths that lead up from the
// directory, and without openat2, as in a sandbox around this one. It opens one component after the other,
// follows no link of /proc, and does not leave root.
func walk(root, at int, path string, noFollow bool) (int, syscall.Errno) {
	here, errno := start(root, at, path)
	for links := 0; errno == 0 && path != ""; {
		name, rest, more := strings.Cut(path, "/")
		if more && rest == "" {
			rest = "." // only a directory has that
		}
		if name == ".." && same(here, root) {
			name = "."
		}
		var next int
		if next, errno = step(here, name); errno != 0 {
			break
		}
		target, failed := linkOf(next)
		switch {
		case failed != 0:
			errno = failed
		case target == "" || noFollow && !more:
			here, next, path = next, here, rest
		case links == mostLinks:
			errno = syscall.ELOOP
		default:
			links++
			if path = target; more {
				path += "/" + rest
			}
			_ = syscall.Close(next)
			next = here
			here, errno = start(root, here, path)
		}
		_ = syscall.Close(next)
	}
	if errno != 0 && here >= 0 {
		_ = syscall.Close(here)
		here = -1
	}
	return here, errno
}

func start(root, at int, path string) (int, syscall.Errno) {
	if strings.HasPrefix(path, "/") {
		at = root
	}
	return step(at, ".")
}

func same(a, b int) bool {
	var one, other syscall.Stat_t
	return syscall.Fstat(a, &one) == nil && syscall.Fstat(b, &other) == nil &&
		one.Dev == other.Dev && one.Ino == other.Ino
}

// step opens name in a directory with O_PATH; an empty name is the directory itself.
func step(dir int, name string) (int, syscall.Errno) {
	if name == "" {
		name = "."
	}
	fd, err := syscall.Openat(dir, name, unix.O_PATH|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	return fd, number(err)
}

// linkOf returns the target of an open symlink, "" for any other file.
func linkOf(fd int) (string, syscall.Errno) {
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil || stat.Mode&syscall.S_IFMT != syscall.S_IFLNK {
		return "", number(err)
	}
	var where syscall.Statfs_t
	if err := syscall.Fstatfs(fd, &where); err != nil {
		return "", number(err)
	}
	if int64(where.Type) == procMagic {
		return "", syscall.ELOOP
	}
	buf := make([]byte, syscall.PathMax)
	none := [1]byte{}
	length, _, errno := syscall.Syscall6(syscall.SYS_READLINKAT, uintptr(fd), uintptr(unsafe.Pointer(&none[0])),
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
	switch {
	case errno != 0:
		return "", errno
	case length == 0 || int(length) == len(buf):
		return "", syscall.ENAMETOOLONG
	}
	return string(buf[:length]), 0
}
