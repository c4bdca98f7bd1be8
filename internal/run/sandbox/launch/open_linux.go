package launch

import (
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/watch"
)

// openCall is a call that opens a file.
type openCall struct {
	at    int
	path  uint64
	flags int
	mode  uint32
}

func parseOpen(nr int, a [6]uint64) (call openCall, ok bool) {
	switch nr {
	case sysOpen:
		return openCall{unix.AT_FDCWD, a[0], int(int32(a[1])), uint32(a[2])}, true
	case sysCreat:
		return openCall{unix.AT_FDCWD, a[0], unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC, uint32(a[1])}, true
	case sysOpenat:
		return openCall{int(int32(a[0])), a[1], int(int32(a[2])), uint32(a[3])}, true
	}
	return call, false
}

// openFile opens a file in the program's stead.
func (s *supervisor) openFile(c caller, call openCall) (fd int, errno syscall.Errno) {
	if call.flags&createFlags != 0 && call.mode&setIDs != 0 {
		return -1, syscall.EPERM
	}
	path, errno := c.text(call.path, syscall.PathMax)
	if errno != 0 {
		return -1, errno
	}
	base, errno := c.enter(call.at, path)
	if errno != 0 {
		return -1, errno
	}
	for range mostLinks {
		var next int
		fd, next, path, errno = s.openStep(c, base, path, call)
		_ = syscall.Close(base)
		if base = next; next < 0 {
			return fd, errno
		}
	}
	_ = syscall.Close(base)
	return -1, syscall.ELOOP
}

// openStep opens a file by a path from an open directory. Where the path ends
// in a symlink, it gives the directory and path to go on with instead.
func (s *supervisor) openStep(c caller, base int, path string, call openCall) (fd, next int, rest string,
	errno syscall.Errno) {
	if own, ok := ownDescriptor(path); ok {
		file, errno := openDescriptor(c.descriptor(own))
		if errno != 0 {
			return -1, -1, "", errno
		}
		fd, errno = s.reopen(c, file, call)
		return fd, -1, "", errno
	}
	p, errno := locate(base, path)
	if errno != 0 {
		if errno == syscall.EEXIST {
			errno = syscall.EISDIR
		}
		return -1, -1, "", errno
	}
	defer p.close()
	file, errno := openPath(p.dir, p.name, unix.O_NOFOLLOW, 0)
	if errno == syscall.ENOSYS {
		file, errno = step(p.dir, p.name)
	}
	switch create := call.flags&unix.O_CREAT != 0; {
	case errno == syscall.ENOENT && create && p.mustBeDir:
		return -1, -1, "", syscall.EISDIR
	case errno == syscall.ENOENT && create:
		if fd, errno = s.create(c, p, call); errno != syscall.EEXIST || call.flags&unix.O_EXCL != 0 {
			return fd, -1, "", errno
		}
		next, errno = p.startOf(p.name) // somebody was faster
		return -1, next, p.name, errno
	case errno != 0:
		return -1, -1, "", errno
	case create && call.flags&unix.O_EXCL != 0 && call.flags&tmpfileBit == 0:
		_ = syscall.Close(file)
		return -1, -1, "", syscall.EEXIST
	}
	target, errno := linkOf(file)
	if errno == 0 && target == "" {
		fd, errno = s.reopen(c, file, call)
		return fd, -1, "", errno
	}
	_ = syscall.Close(file)
	if errno == 0 && call.flags&unix.O_NOFOLLOW != 0 {
		errno = syscall.ELOOP
	}
	if errno != 0 {
		return -1, -1, "", errno
	}
	next, errno = p.startOf(target)
	return -1, next, target, errno
}

// startOf opens the directory that a link at the place leads on from.
func (p place) startOf(target string) (int, syscall.Errno) {
	if strings.HasPrefix(target, "/") {
		return openDescriptor("/")
	}
	return openDescriptor("/proc/self/fd/" + strconv.Itoa(p.dir))
}

// tmpfileBit is the bit of O_TMPFILE that is its alone.
const tmpfileBit = 0o20000000

// ownDescriptor reads the ways in which a program names an open file of its own.
func ownDescriptor(path string) (fd int, ok bool) {
	switch path {
	case "/dev/stdin":
		return 0, true
	case "/dev/stdout":
		return 1, true
	case "/dev/stderr":
		return 2, true
	}
	for _, prefix := range []string{"/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"} {
		if number, found := strings.CutPrefix(path, prefix); found {
			fd, err := strconv.Atoi(number)
			return fd, err == nil && fd >= 0
		}
	}
	return 0, false
}

// create makes a file where there is none.
func (s *supervisor) create(c caller, p place, call openCall) (int, syscall.Errno) {
	if errno := s.mayMake(p); errno != 0 {
		return -1, errno
	}
	s.beforePlace(p, watch.Content)
	flags := call.flags | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NOCTTY
	fd, err := unix.Openat(p.dir, p.name, flags, call.mode&^c.umask())
	return fd, number(err)
}

// mayOpen says whether an open file may be opened for reading, and to write.
func (s *supervisor) mayOpen(fd int, write bool) syscall.Errno {
	path, ok := nameOf(fd)
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil || !ok {
		return syscall.EACCES
	}
	if stat.Mode&syscall.S_IFMT == syscall.S_IFCHR {
		if stat.Rdev == unix.Mkdev(5, 0) {
			return syscall.ENXIO // its own terminal, which it has none of, and not the host's
		}
		for _, device := range s.devices {
			if path == device || strings.HasPrefix(path, device+"/") {
				return 0
			}
		}
		return syscall.EACCES
	}
	if stat.Nlink == 0 {
		path = strings.TrimSuffix(path, " (deleted)")
	}
	switch {
	case !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/memfd:") && stat.Nlink == 0:
		return 0 // a pipe or the like, which no path leads to
	case !s.granted(path):
		return syscall.EACCES
	case write && s.guard.Protected(path):
		return refused
	}
	return 0
}

// reopen opens what is open for no access as the program wants it, and closes
// that.
func (s *supervisor) reopen(c caller, file int, call openCall) (int, syscall.Errno) {
	defer syscall.Close(file)
	flags := call.flags&^(unix.O_EXCL|unix.O_CREAT|unix.O_NOFOLLOW) | unix.O_CLOEXEC | unix.O_NOCTTY
	mode := uint32(0)
	if call.flags&tmpfileBit != 0 {
		flags, mode = call.flags|unix.O_CLOEXEC, call.mode&^c.umask()
	}
	if errno := s.mayOpen(file, call.flags&(writing&^unix.O_CREAT) != 0); errno != 0 {
		return -1, errno
	}
	var stat syscall.Stat_t
	if err := syscall.Fstat(file, &stat); err != nil {
		return -1, number(err)
	}
	switch stat.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		if call.flags&tmpfileBit == 0 && call.flags&unix.O_CREAT != 0 {
			return -1, syscall.EISDIR
		}
	case syscall.S_IFIFO:
		fd, err := syscall.Dup(file)
		if err == nil {
			return fd, syscall.EAGAIN // opened elsewhere: it may take long
		}
		return -1, number(err)
	case syscall.S_IFREG:
		if call.flags&(writing&^unix.O_CREAT) != 0 {
			s.beforeFile(file, watch.Content)
		}
	}
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(file), flags, mode)
	return fd, number(err)
}
