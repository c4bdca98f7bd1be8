package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/watch"
)

// Guard is what the supervisor keeps a program from changing though it lies in
// a tree that the program may change, by absolute paths without symlinks.
// Landlock grants whole trees, and knows no names.
type Guard struct {
	// Protected reports whether nothing may be made, changed or removed at a
	// path.
	Protected func(path string) bool
	// Holds reports whether something protected lies below a directory, which
	// therefore stays where it is.
	Holds func(path string) bool
}

// A call that makes, changes or removes a file is made in the program's stead,
// from the directory that it concerns: what was looked at is where it happens.

// fileCalls are those calls, beside those that open a file.
var fileCalls = [...]int{
	sysTruncate, sysRename, sysRenameat, sysRenameat2, sysLink, sysLinkat, sysSymlink, sysSymlinkat,
	sysUnlink, sysUnlinkat, sysRmdir, sysMkdir, sysMkdirat, sysMknod, sysMknodat,
}

// writing are the flags of a call that opens a file for more than reading.
const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// refused is what a program gets for what is protected, as at level full.
const refused = syscall.EROFS

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

// place is where a file is, or would be: a directory and a name in it.
type place struct {
	dir  int
	name string
	path string // of both, absolute and without symlinks
	// mustBeDir is for a path that ends in a slash.
	mustBeDir bool
}

func (p place) close() { _ = syscall.Close(p.dir) }

// enter opens the directory that a path of the caller starts from.
func (c caller) enter(at int, path string) (int, syscall.Errno) {
	if strings.HasPrefix(path, "/") {
		return openDescriptor("/")
	}
	return openDescriptor(c.descriptor(at))
}

// locate finds the place that a path names from an open directory.
func locate(base int, path string) (place, syscall.Errno) {
	trimmed := strings.TrimRight(path, "/")
	if path == "" {
		return place{}, syscall.ENOENT
	}
	if trimmed == "" {
		return place{}, syscall.EEXIST // the root directory
	}
	dir, name := filepath.Split(trimmed)
	if len(name) > syscall.NAME_MAX {
		return place{}, syscall.ENAMETOOLONG
	}
	if dir == "" {
		dir = "."
	}
	fd, errno := openPath(base, dir, unix.O_DIRECTORY, unix.RESOLVE_NO_MAGICLINKS)
	if errno == syscall.ENOSYS {
		fd, errno = walk(base, dir, false)
	}
	if errno != 0 {
		return place{}, errno
	}
	at, ok := nameOf(fd)
	if !ok {
		_ = syscall.Close(fd)
		return place{}, syscall.EACCES
	}
	return place{dir: fd, name: name, path: filepath.Join(at, name), mustBeDir: trimmed != path}, 0
}

// place finds the place that a path in the caller's memory names.
func (s *supervisor) place(c caller, at int, address uint64) (place, syscall.Errno) {
	path, errno := c.text(address, syscall.PathMax)
	if errno != 0 {
		return place{}, errno
	}
	base, errno := c.enter(at, path)
	if errno != 0 {
		return place{}, errno
	}
	defer syscall.Close(base)
	return locate(base, path)
}

// nameOf is the path of an open file, as the kernel knows it.
func nameOf(fd int) (path string, ok bool) {
	buf := make([]byte, syscall.PathMax)
	length, err := syscall.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf)
	if err != nil || length == len(buf) {
		return "", false
	}
	return string(buf[:length]), true
}

// mayMake says whether a name may come or go at a place.
func (s *supervisor) mayMake(p place) syscall.Errno {
	switch {
	case !s.granted(filepath.Dir(p.path)):
		return syscall.EACCES
	case s.guard.Protected(p.path):
		return refused
	}
	return 0
}

// mayReplace says whether anything may come or go at a place, a directory or a
// symlink too: below it, other files would then be what is protected.
func (s *supervisor) mayReplace(p place) syscall.Errno {
	if errno := s.mayMake(p); errno != 0 {
		return errno
	}
	if s.guard.Holds(p.path) {
		return refused
	}
	return 0
}

// exists says whether there is something at a place, and of the kind that the
// path says.
func (p place) exists() syscall.Errno {
	var stat unix.Stat_t
	if err := unix.Fstatat(p.dir, p.name, &stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return number(err)
	}
	if p.mustBeDir && stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return syscall.ENOTDIR
	}
	return 0
}

// granted reports whether a path lies where the program may write.
func (s *supervisor) granted(path string) bool {
	for _, root := range s.writable {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

// files makes a call of fileCalls in the program's stead. The arguments are
// brought into the form of the newer calls.
func (s *supervisor) files(c caller, n *notification) (result syscall.Errno, ok bool) {
	a, cwd := n.args, uint64(0xffffff9c) // AT_FDCWD
	switch int(n.nr) {
	case sysTruncate:
		return s.truncate(c, a[0], int64(a[1])), true
	case sysRename:
		return s.rename(c, cwd, a[0], cwd, a[1], 0), true
	case sysRenameat:
		return s.rename(c, a[0], a[1], a[2], a[3], 0), true
	case sysRenameat2:
		return s.rename(c, a[0], a[1], a[2], a[3], uint(a[4])), true
	case sysLink:
		return s.link(c, cwd, a[0], cwd, a[1], 0), true
	case sysLinkat:
		return s.link(c, a[0], a[1], a[2], a[3], a[4]), true
	case sysSymlink:
		return s.symlink(c, a[0], cwd, a[1]), true
	case sysSymlinkat:
		return s.symlink(c, a[0], a[1], a[2]), true
	case sysUnlink:
		return s.unlink(c, cwd, a[0], 0), true
	case sysRmdir:
		return s.unlink(c, cwd, a[0], unix.AT_REMOVEDIR), true
	case sysUnlinkat:
		return s.unlink(c, a[0], a[1], int(a[2])), true
	case sysMkdir:
		return s.mkdir(c, cwd, a[0], a[1]), true
	case sysMkdirat:
		return s.mkdir(c, a[0], a[1], a[2]), true
	case sysMknod:
		return s.mknod(c, cwd, a[0], a[1]), true
	case sysMknodat:
		return s.mknod(c, a[0], a[1], a[2]), true
	}
	return 0, false
}

func (s *supervisor) truncate(c caller, path uint64, length int64) syscall.Errno {
	text, errno := c.text(path, syscall.PathMax)
	if errno != 0 {
		return errno
	}
	fd, errno := c.open(file{at: unix.AT_FDCWD, path: text, byPath: true})
	if errno != 0 {
		return errno
	}
	defer syscall.Close(fd)
	if errno := s.mayOpen(fd, true); errno != 0 {
		return errno
	}
	s.beforeFile(fd, watch.Content)
	return number(syscall.Truncate("/proc/self/fd/"+strconv.Itoa(fd), length))
}

func (s *supervisor) rename(c caller, fromAt, from, toAt, to uint64, flags uint) syscall.Errno {
	source, errno := s.place(c, int(int32(fromAt)), from)
	if errno != 0 {
		return errno
	}
	defer source.close()
	target, errno := s.place(c, int(int32(toAt)), to)
	if errno != 0 {
		return errno
	}
	defer target.close()
	if errno := source.exists(); errno != 0 {
		return errno
	}
	if errno := s.mayReplace(source); errno != 0 {
		return errno
	}
	if errno := s.mayReplace(target); errno != 0 {
		return errno
	}
	if flags&unix.RENAME_WHITEOUT != 0 {
		return syscall.EPERM
	}
	s.beforeRename(source, target, flags)
	return number(unix.Renameat2(source.dir, source.name, target.dir, target.name, flags))
}

func (s *supervisor) link(c caller, fromAt, from, toAt, to, flags uint64) syscall.Errno {
	text, errno := c.text(from, syscall.PathMax)
	if errno != 0 {
		return errno
	}
	if text == "" && flags&atEmpty == 0 {
		return syscall.ENOENT
	}
	const follow = unix.AT_SYMLINK_FOLLOW
	source, errno := c.open(file{at: int(int32(fromAt)), path: text, byPath: text != "", noFollow: flags&follow == 0})
	if errno != 0 {
		return errno
	}
	defer syscall.Close(source)
	target, errno := s.place(c, int(int32(toAt)), to)
	if errno != 0 {
		return errno
	}
	defer target.close()
	if !s.mayChange(source) {
		return syscall.EACCES
	}
	if errno := s.mayMake(target); errno != 0 {
		return errno
	}
	s.beforeFile(source, watch.Content) // who writes to the new name, writes to this one
	s.beforePlace(target, watch.Content)
	return number(unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(source), target.dir, target.name, follow))
}

func (s *supervisor) symlink(c caller, text, at, path uint64) syscall.Errno {
	target, errno := c.text(text, syscall.PathMax)
	if errno != 0 {
		return errno
	}
	p, errno := s.place(c, int(int32(at)), path)
	if errno != 0 {
		return errno
	}
	defer p.close()
	if errno := s.mayReplace(p); errno != 0 {
		return errno
	}
	s.beforePlace(p, watch.Content)
	return number(unix.Symlinkat(target, p.dir, p.name))
}

func (s *supervisor) unlink(c caller, at, path uint64, flags int) syscall.Errno {
	p, errno := s.place(c, int(int32(at)), path)
	if errno != 0 {
		return errno
	}
	defer p.close()
	if errno := p.exists(); errno != 0 {
		return errno
	}
	if errno := s.mayMake(p); errno != 0 {
		return errno
	}
	s.beforePlace(p, watch.Content)
	return number(unix.Unlinkat(p.dir, p.name, flags))
}

func (s *supervisor) mkdir(c caller, at, path, mode uint64) syscall.Errno {
	p, errno := s.place(c, int(int32(at)), path)
	if errno != 0 {
		return errno
	}
	defer p.close()
	var stat unix.Stat_t
	if unix.Fstatat(p.dir, p.name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return syscall.EEXIST // as Landlock has it, also where nothing may be made
	}
	if errno := s.mayMake(p); errno != 0 {
		return errno
	}
	s.beforePlace(p, watch.Content)
	return number(unix.Mkdirat(p.dir, p.name, uint32(mode)&^c.umask()&^setIDs))
}

func (s *supervisor) mknod(c caller, at, path, mode uint64) syscall.Errno {
	if kind := mode & typeMask; mode&setIDs != 0 || kind == charDevice || kind == blockDevice {
		return syscall.EPERM
	}
	p, errno := s.place(c, int(int32(at)), path)
	if errno != 0 {
		return errno
	}
	defer p.close()
	if errno := s.mayMake(p); errno != 0 {
		return errno
	}
	s.beforePlace(p, watch.Content)
	return number(unix.Mknodat(p.dir, p.name, uint32(mode)&^c.umask(), 0))
}

// umask is the caller's, all bits if it has ended.
func (c caller) umask() uint32 {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(c.pid) + "/status")
	if _, rest, found := bytes.Cut(status, []byte("\nUmask:\t")); found {
		value, _, _ := bytes.Cut(rest, []byte("\n"))
		if mask, err := strconv.ParseUint(string(value), 8, 32); err == nil {
			return uint32(mask)
		}
	}
	return 0o777
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
		next, errno = openDescriptor("/proc/self/fd/" + strconv.Itoa(p.dir)) // somebody was faster
		if errno != 0 {
			return -1, -1, "", errno
		}
		return -1, next, p.name, 0
	case errno != 0:
		return -1, -1, "", errno
	case create && call.flags&unix.O_EXCL != 0 && call.flags&tmpfileBit == 0:
		_ = syscall.Close(file)
		return -1, -1, "", syscall.EEXIST
	}
	target, errno := linkOf(file)
	if errno != 0 || target != "" {
		_ = syscall.Close(file)
	}
	switch {
	case errno == 0 && target == "":
		fd, errno = s.reopen(c, file, call)
		return fd, -1, "", errno
	case errno == 0 && call.flags&unix.O_NOFOLLOW != 0:
		errno = syscall.ELOOP
	}
	if errno != 0 {
		return -1, -1, "", errno
	}
	if next, errno = openDescriptor("/proc/self/fd/" + strconv.Itoa(p.dir)); strings.HasPrefix(target, "/") &&
		errno == 0 {
		_ = syscall.Close(next)
		next, errno = openDescriptor("/")
	}
	if errno != 0 {
		return -1, -1, "", errno
	}
	return -1, next, target, 0
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

// answerOpen answers a call that opens a file.
func (s *supervisor) answerOpen(n *notification, call openCall) {
	fd, errno := s.openFile(caller{pid: int(n.pid)}, call)
	switch {
	case errno == syscall.EAGAIN && fd >= 0:
		go s.openPipe(*n, fd, call.flags)
	case errno != 0:
		s.answer(n.id, errno)
	default:
		s.hand(n.id, fd, call.flags)
		_ = syscall.Close(fd)
	}
}

// openPipe opens a named pipe when somebody has it open at the other end, as
// long as the caller waits for that.
func (s *supervisor) openPipe(n notification, file, flags int) {
	defer syscall.Close(file)
	name := "/proc/self/fd/" + strconv.Itoa(file)
	plain := flags &^ (unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_TRUNC)
	for {
		fd, err := unix.Open(name, plain|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil && flags&unix.O_NONBLOCK == 0 {
			err = unix.SetNonblock(fd, false)
		}
		switch {
		case err == nil:
			s.hand(n.id, fd, flags)
			_ = syscall.Close(fd)
			return
		case err != unix.ENXIO || flags&unix.O_NONBLOCK != 0:
			s.answer(n.id, number(err))
			return
		}
		time.Sleep(pipePause)
		if s.control(notifyValid, unsafe.Pointer(&n.id)) != nil {
			return
		}
	}
}

// pipePause is how long it takes at most until a pipe is seen to be open at the
// other end.
const pipePause = 2 * time.Millisecond

// addFile is struct seccomp_notif_addfd.
type addFile struct {
	id                            uint64
	flags, source, target, closes uint32
}

// hand gives the program a copy of a descriptor, as the result of its call. The
// kernel can do both at once, but when a signal reaches this thread meanwhile, as
// Go's runtime sends them, the call then ends with descriptor 0.
func (s *supervisor) hand(id uint64, fd, flags int) {
	add := addFile{id: id, source: uint32(fd), closes: uint32(flags & unix.O_CLOEXEC)}
	for {
		copied, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s.listener), notifyAddFile,
			uintptr(unsafe.Pointer(&add)))
		switch errno {
		case 0:
			reply := answer{id: id, value: int64(copied)}
			_ = s.control(notifySend, unsafe.Pointer(&reply))
			return
		case syscall.EINTR:
		default:
			s.answer(id, errno)
			return
		}
	}
}

func (s *supervisor) answer(id uint64, errno syscall.Errno) {
	reply := answer{id: id, errno: -int32(errno)}
	_ = s.control(notifySend, unsafe.Pointer(&reply))
}
