package launch

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/watch"
)

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

// openStep opens a file by a path from an open directory. If the path ends in a symlink, it returns the
// directory and path to continue with.
func (s *supervisor) openStep(c caller, base int, path string, call openCall) (fd, next int, rest string,
	errno syscall.Errno) {
	if own, ok := ownDescriptor(path); ok {
		file, errno := c.openOwn(own)
		if errno != 0 {
			return -1, -1, "", errno
		}
		fd, errno = s.reopen(c, file, call)
		return fd, -1, "", errno
	}
	p, errno := s.locate(c, base, path)
	if errno != 0 {
		if errno == syscall.EEXIST {
			errno = syscall.EISDIR
		}
		return -1, -1, "", errno
	}
	defer p.close()
	if check := s.checked(p.path); check != nil && check.InPlace && call.flags&(unix.O_WRONLY|unix.O_RDWR) != 0 {
		fd, errno = s.openDraft(c, p, check, call)
		return fd, -1, "", errno
	}
	file, errno := step(p.dir, p.name)
	switch create := call.flags&unix.O_CREAT != 0; {
	case errno == syscall.ENOENT && create && p.mustBeDir:
		return -1, -1, "", syscall.EISDIR
	case errno == syscall.ENOENT && create:
		if fd, errno = s.create(c, p, call); errno != syscall.EEXIST || call.flags&unix.O_EXCL != 0 {
			return fd, -1, "", errno
		}
		next, errno = p.startOf(c, p.name) // another process made it meanwhile
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
	next, errno = p.startOf(c, target)
	return -1, next, target, errno
}

func (p dirEntry) startOf(c caller, target string) (int, syscall.Errno) {
	if strings.HasPrefix(target, "/") {
		return duplicate(c.root)
	}
	return duplicate(p.dir)
}

const tmpfileBit = 0o20000000

// ownDescriptor parses the paths by which a program names its own open files.
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

func (s *supervisor) create(c caller, p dirEntry, call openCall) (int, syscall.Errno) {
	if errno := s.mayMake(p); errno != 0 {
		return -1, errno
	}
	s.beforePlace(p, watch.Content)
	flags := call.flags | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NOCTTY
	return s.openNew(p.dir, p.name, flags, call.mode&^s.status.umask(c.pid))
}

// openNew makes a file and sets its mode, which the host's umask may have reduced.
func (s *supervisor) openNew(dir int, path string, flags int, mode uint32) (int, syscall.Errno) {
	fd, err := unix.Openat(dir, path, flags, mode)
	if err == nil && mode&s.umask != 0 {
		err = unix.Fchmod(fd, mode&0o7777)
	}
	return fd, number(err)
}

// mayOpen checks whether an open file may be opened for reading, or also for writing.
func (s *supervisor) mayOpen(fd int, write bool) syscall.Errno {
	path, ok := s.nameOf(fd)
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil || !ok {
		return syscall.EACCES
	}
	if stat.Mode&syscall.S_IFMT == syscall.S_IFCHR {
		for _, device := range s.Devices {
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
		return 0 // no path leads to it, such as a pipe
	case !s.granted(path) && (write || !s.shown(fd)):
		return s.outside(syscall.EACCES)
	case write && s.protected(path):
		return refused
	}
	return 0
}

// shown reports whether the program may read the file it sees: in a view, except in /proc, where the reader
// matters.
func (s *supervisor) shown(fd int) bool {
	var where syscall.Statfs_t
	return s.View && !s.raised && syscall.Fstatfs(fd, &where) == nil && int64(where.Type) != procMagic
}

// terminal opens the controlling terminal of the caller's session with O_PATH: /dev/tty means another one to the
// supervisor.
func (c caller) terminal() (int, syscall.Errno) {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(c.pid) + "/stat")
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " ")
	const terminals, slaves = 4, 136 // the field, and the major number
	fields := strings.Fields(rest)
	if len(fields) <= terminals {
		return -1, syscall.ENXIO
	}
	device, _ := strconv.Atoi(fields[terminals])
	if device>>8&0xfff != slaves {
		return -1, syscall.ENXIO
	}
	index := device&0xff | device>>12&0xfff00
	fd, errno := openPath(c.root, "dev/pts/"+strconv.Itoa(index), 0, unix.RESOLVE_NO_SYMLINKS)
	if errno != 0 || !c.waits() {
		return -1, syscall.ENXIO
	}
	return fd, 0
}

// reopen opens an O_PATH descriptor as the program asked, and closes it.
func (s *supervisor) reopen(c caller, file int, call openCall) (int, syscall.Errno) {
	defer func() { _ = syscall.Close(file) }()
	var stat syscall.Stat_t
	if err := syscall.Fstat(file, &stat); err != nil {
		return -1, number(err)
	}
	if stat.Mode&syscall.S_IFMT == syscall.S_IFCHR && stat.Rdev == unix.Mkdev(5, 0) {
		if !s.View {
			return -1, syscall.ENXIO // its session may have one of the host's
		}
		terminal, errno := c.terminal()
		if errno != 0 {
			return -1, errno
		}
		_ = syscall.Close(file)
		file = terminal
	}
	flags := call.flags&^(unix.O_EXCL|unix.O_CREAT|unix.O_NOFOLLOW) | unix.O_CLOEXEC | unix.O_NOCTTY
	mode := uint32(0)
	if call.flags&tmpfileBit != 0 {
		flags, mode = call.flags|unix.O_CLOEXEC, call.mode&^s.status.umask(c.pid)
	}
	if errno := s.mayOpen(file, call.flags&(writing&^unix.O_CREAT) != 0); errno != 0 {
		return -1, errno
	}
	switch stat.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		if call.flags&tmpfileBit == 0 && call.flags&unix.O_CREAT != 0 {
			return -1, syscall.EISDIR
		}
	case syscall.S_IFIFO:
		fd, err := syscall.Dup(file)
		if err == nil {
			return fd, syscall.EAGAIN // opened elsewhere, since it may block
		}
		return -1, number(err)
	case syscall.S_IFREG:
		if call.flags&(writing&^unix.O_CREAT) != 0 {
			s.beforeFile(file, watch.Content)
		}
	}
	return s.openNew(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(file), flags, mode)
}
