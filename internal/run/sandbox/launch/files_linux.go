package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

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
