package launch

import (
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/watch"
)

// A supervisor tells a watcher what a call is going to change, before the call
// is made. Where the supervisor makes it itself, that is what it has looked at.
// Where the view confines the program, the call goes on and the kernel looks at
// its arguments anew: a program that changes them meanwhile escapes the watcher,
// and gains nothing else.

// goOn has the kernel make the call (SECCOMP_USER_NOTIF_FLAG_CONTINUE).
const goOn = 1

func (s *supervisor) proceed(id uint64) {
	reply := answer{id: id, flags: goOn}
	_ = s.control(notifySend, unsafe.Pointer(&reply))
}

// nobody watches.
type nobody struct{}

func (nobody) Begin() func()                         { return func() {} }
func (nobody) Began() bool                           { return false }
func (nobody) Wants(string, watch.What) bool         { return false }
func (nobody) Before(watch.Place, watch.What)        {}
func (nobody) Rename(watch.Place, watch.Place, bool) {}
func (nobody) Missed(string)                         {}

func (p place) watched() watch.Place { return watch.Place{Path: p.path, Dir: p.dir, Name: p.name} }

func (s *supervisor) beforePlace(p place, what watch.What) {
	if s.watch.Wants(p.path, what) {
		s.watch.Before(p.watched(), what)
	}
}

// beforeFile is beforePlace for an open file, which need not have a name any more.
func (s *supervisor) beforeFile(fd int, what watch.What) {
	path, ok := nameOf(fd)
	if ok && strings.HasPrefix(path, "/") && s.watch.Wants(path, what) {
		s.watch.Before(watch.Place{Path: path, Dir: fd}, what)
	}
}

func (s *supervisor) beforeRename(source, target place, flags uint) {
	s.watch.Rename(source.watched(), target.watched(), flags&unix.RENAME_EXCHANGE != 0)
}

// see tells the watcher what a call is going to change.
func (s *supervisor) see(n *notification) {
	c, a := caller{pid: int(n.pid)}, n.args
	if call, ok := parseOpen(int(n.nr), a); ok {
		if text, errno := c.text(call.path, syscall.PathMax); errno == 0 {
			s.seeOpen(c, call.at, text, call.flags)
		}
		return
	}
	const cwd = 0xffffff9c // AT_FDCWD
	switch int(n.nr) {
	case sysTruncate:
		s.seeFile(c, cwd, a[0], 0, watch.Content)
	case sysRename:
		s.seeRename(c, cwd, a[0], cwd, a[1], 0)
	case sysRenameat:
		s.seeRename(c, a[0], a[1], a[2], a[3], 0)
	case sysRenameat2:
		s.seeRename(c, a[0], a[1], a[2], a[3], uint(a[4]))
	case sysLink: // who writes to the new name, writes to the old one
		s.seeFile(c, cwd, a[0], atSymlinkNofollow, watch.Content)
		s.seePlace(c, cwd, a[1], watch.Content)
	case sysLinkat:
		follow := uint64(atSymlinkNofollow)
		if a[4]&unix.AT_SYMLINK_FOLLOW != 0 {
			follow = 0
		}
		s.seeFile(c, a[0], a[1], a[4]&atEmpty|follow, watch.Content)
		s.seePlace(c, a[2], a[3], watch.Content)
	case sysSymlink:
		s.seePlace(c, cwd, a[1], watch.Content)
	case sysSymlinkat:
		s.seePlace(c, a[1], a[2], watch.Content)
	case sysUnlink, sysRmdir, sysMkdir, sysMknod:
		s.seePlace(c, cwd, a[0], watch.Content)
	case sysUnlinkat, sysMkdirat, sysMknodat:
		s.seePlace(c, a[0], a[1], watch.Content)
	case sysChmod:
		s.seeFile(c, cwd, a[0], 0, watch.Attributes)
	case sysFchmod:
		s.seeDescriptor(c, int(int32(a[0])), watch.Attributes)
	case sysFchmodat:
		s.seeFile(c, a[0], a[1], 0, watch.Attributes)
	case sysFchmodat2:
		s.seeFile(c, a[0], a[1], a[3], watch.Attributes)
	}
}

func (s *supervisor) seeDescriptor(c caller, number int, what watch.What) {
	fd, errno := openDescriptor(c.descriptor(number))
	if errno == 0 {
		s.beforeFile(fd, what)
		_ = syscall.Close(fd)
	}
}

func (s *supervisor) seeFile(c caller, at, address, flags uint64, what watch.What) {
	text, errno := c.text(address, syscall.PathMax)
	switch {
	case errno != 0:
		return
	case text == "" && flags&atEmpty != 0:
		s.seeDescriptor(c, int(int32(at)), what)
		return
	}
	open := 0
	if flags&atSymlinkNofollow != 0 {
		open = unix.O_NOFOLLOW
	}
	if what == watch.Content {
		open |= unix.O_WRONLY
	}
	s.seeOpen(c, int(int32(at)), text, open)
}

// seeOpen looks at what a call opens, or makes. Flags that open nothing for
// writing are for a change of what is known about the file.
func (s *supervisor) seeOpen(c caller, at int, text string, flags int) {
	if own, ok := ownDescriptor(text); ok {
		s.seeDescriptor(c, own, watch.Content)
		return
	}
	what := watch.Content
	if flags&writing == 0 {
		what = watch.Attributes
	}
	path, ok := s.path(c, at, text)
	for links := 0; ok && links < mostLinks; links++ {
		fd, errno := s.inRoot(path, flags&unix.O_NOFOLLOW)
		if errno == 0 {
			if flags&(unix.O_CREAT|unix.O_EXCL) != unix.O_CREAT|unix.O_EXCL {
				s.beforeFile(fd, what)
			}
			_ = syscall.Close(fd)
			return
		}
		if errno != syscall.ENOENT || flags&unix.O_CREAT == 0 {
			s.failed(errno)
			return
		}
		p, errno := s.placeIn(path)
		if errno != 0 {
			s.failed(errno)
			return
		}
		target := make([]byte, syscall.PathMax)
		length, err := unix.Readlinkat(p.dir, p.name, target)
		if err != nil {
			s.beforePlace(p, what)
			p.close()
			return
		}
		p.close() // a symlink that leads to nothing, where the file will be
		if path = string(target[:length]); !strings.HasPrefix(path, "/") {
			path = filepath.Dir(p.path) + "/" + path
		}
	}
}

func (s *supervisor) seePlace(c caller, at, address uint64, what watch.What) {
	if p, ok := s.placeOf(c, at, address); ok {
		s.beforePlace(p, what)
		p.close()
	}
}

func (s *supervisor) seeRename(c caller, fromAt, from, toAt, to uint64, flags uint) {
	source, ok := s.placeOf(c, fromAt, from)
	if !ok {
		return
	}
	defer source.close()
	target, ok := s.placeOf(c, toAt, to)
	if !ok {
		return
	}
	defer target.close()
	if source.exists() == 0 {
		s.beforeRename(source, target, flags)
	}
}

// placeOf is the place that a path in the caller's memory names, as the caller
// sees it; false when the call fails anyway.
func (s *supervisor) placeOf(c caller, at, address uint64) (place, bool) {
	text, errno := c.text(address, syscall.PathMax)
	if errno != 0 {
		return place{}, false
	}
	path, ok := s.path(c, int(int32(at)), text)
	if !ok {
		return place{}, false
	}
	p, errno := s.placeIn(path)
	if errno != 0 {
		s.failed(errno)
		return place{}, false
	}
	return p, true
}

// path makes a path of the caller one from its root directory.
func (s *supervisor) path(c caller, at int, text string) (string, bool) {
	if s.root < 0 {
		fd, errno := openDescriptor("/proc/" + strconv.Itoa(c.pid) + "/root")
		if errno != 0 {
			s.failed(errno)
			return "", false
		}
		s.root = fd // none of the processes can have another
	}
	switch {
	case text == "":
		return "", false
	case text[0] == '/':
		return text, true
	}
	buf := make([]byte, syscall.PathMax)
	length, err := syscall.Readlink(c.descriptor(at), buf)
	if err != nil || length == len(buf) || buf[0] != '/' {
		return "", false // as for a descriptor that is not open
	}
	return string(buf[:length]) + "/" + text, true
}

// inRoot opens a path as the caller sees it, for no access.
func (s *supervisor) inRoot(path string, flags int) (int, syscall.Errno) {
	return openPath(s.root, path, uint64(flags), unix.RESOLVE_IN_ROOT)
}

// placeIn is locate for a path as the caller sees it.
func (s *supervisor) placeIn(path string) (place, syscall.Errno) {
	dir, name := filepath.Split(strings.TrimRight(path, "/"))
	if name == "" || name == "." || name == ".." {
		return place{}, syscall.EINVAL
	}
	fd, errno := s.inRoot(dir, unix.O_DIRECTORY)
	if errno != 0 {
		return place{}, errno
	}
	at, ok := nameOf(fd)
	if !ok {
		_ = syscall.Close(fd)
		return place{}, syscall.ENAMETOOLONG
	}
	return place{dir: fd, name: name, path: filepath.Join(at, name)}, 0
}

// failed tells the watcher of a call that could not be followed. What the
// kernel refuses by the same error changes nothing.
func (s *supervisor) failed(errno syscall.Errno) {
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EACCES, syscall.EINVAL,
		syscall.EXDEV, syscall.ESRCH:
	default:
		s.watch.Missed("a path could not be followed: " + errno.Error())
	}
}
