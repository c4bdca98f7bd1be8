package launch

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/file/obeyed"
	"github.com/toolhost/toolhost/internal/run/watch"
)

// Guard is what a program may not change within its writable trees, by absolute paths without symlinks.
type Guard struct {
	// Protected reports whether a path may not be made, changed or removed.
	Protected func(path string, exists obeyed.Exists) bool
	// Holds reports whether something protected lies below a directory, which then must not move.
	Holds func(path string, exists obeyed.Exists) bool
	// Vital reports whether a path may be replaced but not removed.
	Vital func(path string, exists obeyed.Exists) bool
	// Checked returns what a file at a protected path may hold, nil if it may not be changed at all.
	Checked func(path string, look Look) *obeyed.Check
	// Directory reports whether a protected path may be made as a directory.
	Directory func(path string) bool
	// MayGo reports whether a protected or vital path may be removed.
	MayGo func(path string, look Look) bool
}

// Look reads files as the program sees them.
type Look struct {
	Exists obeyed.Exists
	// Straight reports whether a path exists without a symlink on the way.
	Straight func(path string) bool
	// Read returns the content of a regular file.
	Read func(path string) (content string, ok bool)
}

// The supervisor carries out each system call that creates, changes or removes a file in place of the program,
// relative to the directory that it has checked.

// fileCalls are these system calls, except those that open a file.
var fileCalls = [...]int{
	sysTruncate, sysRename, sysRenameat, sysRenameat2, sysLink, sysLinkat, sysSymlink, sysSymlinkat,
	sysUnlink, sysUnlinkat, sysRmdir, sysMkdir, sysMkdirat, sysMknod, sysMknodat,
}

const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// refused is the error for protected paths, as at level full.
const refused = syscall.EROFS

// mayMake checks whether a name may be added or removed at a place.
func (s *supervisor) mayMake(p dirEntry) syscall.Errno {
	switch {
	case !s.granted(filepath.Dir(p.path)):
		return s.outside(syscall.EACCES)
	case s.protected(p.path):
		return refused
	}
	return 0
}

// protected reports whether a path may not be written: it is protected, or replaced only as a whole.
func (s *supervisor) protected(path string) bool {
	return s.Guard.Protected(path, s.exists) || s.checked(path) != nil
}

func (s *supervisor) checked(path string) *obeyed.Check {
	if !strings.Contains(path, "/.git") {
		return nil
	}
	return s.Guard.Checked(path, s.newLook())
}

// mayAdd checks whether a new name may be added. If the path exists, the error is EEXIST even where adding
// would be refused.
func (s *supervisor) mayAdd(p dirEntry) syscall.Errno {
	var stat unix.Stat_t
	if unix.Fstatat(p.dir, p.name, &stat, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return syscall.EEXIST
	}
	return s.mayMake(p)
}

// mayReplace checks whether anything may be added or removed at a place, also a directory or symlink: other
// files below it would then be the protected ones.
func (s *supervisor) mayReplace(p dirEntry) syscall.Errno {
	if errno := s.mayMake(p); errno != 0 {
		return errno
	}
	if s.Guard.Holds(p.path, s.exists) {
		return refused
	}
	return 0
}

func (s *supervisor) mayRemove(p dirEntry) syscall.Errno {
	switch {
	case !s.granted(filepath.Dir(p.path)):
		return s.outside(syscall.EACCES)
	case (s.Guard.Protected(p.path, s.exists) || s.Guard.Vital(p.path, s.exists)) && !s.Guard.MayGo(p.path, s.newLook()):
		return refused
	}
	return 0
}

// exists reports whether an absolute path exists, as the caller sees it.
func (s *supervisor) exists(path string) bool {
	fd, errno := openPath(s.root, path, unix.O_NOFOLLOW, unix.RESOLVE_IN_ROOT|unix.RESOLVE_NO_MAGICLINKS)
	if errno == syscall.ENOSYS {
		fd, errno = walk(s.root, s.root, path, true)
	}
	if errno == 0 {
		_ = syscall.Close(fd)
	}
	return errno == 0
}

func (s *supervisor) newLook() Look {
	return Look{Exists: s.exists, Straight: s.straight, Read: s.readPath}
}

// straight reports whether an absolute path exists without a symlink on the way.
func (s *supervisor) straight(path string) bool {
	fd, errno := walk(s.root, s.root, path, true)
	if errno != 0 {
		return false
	}
	defer syscall.Close(fd)
	name, ok := s.nameOf(fd)
	return ok && name == path
}

func (s *supervisor) readPath(path string) (content string, ok bool) {
	dir, errno := walk(s.root, s.root, filepath.Dir(path), true)
	if errno != 0 {
		return "", false
	}
	defer syscall.Close(dir)
	content, _, errno = readAt(dir, filepath.Base(path))
	return content, errno == 0
}

// granted reports whether a path lies where the program may write.
func (s *supervisor) granted(path string) bool {
	for _, root := range s.Writable {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

// files makes a call of fileCalls for the program. The arguments are converted to the form of the newer calls.
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
	if flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0 {
		return syscall.EINVAL // RENAME_WHITEOUT would make a device file
	}
	source, errno := s.locateArg(c, int(int32(fromAt)), from)
	if errno != 0 {
		return errno
	}
	defer source.close()
	target, errno := s.locateArg(c, int(int32(toAt)), to)
	if errno != 0 {
		return errno
	}
	defer target.close()
	if errno := source.exists(); errno != 0 {
		return errno
	}
	if s.Guard.Vital(source.path, s.exists) || flags&unix.RENAME_EXCHANGE != 0 && s.Guard.Vital(target.path, s.exists) {
		return refused
	}
	if errno := s.mayReplace(source); errno != 0 {
		return errno
	}
	if check := s.checked(target.path); check != nil && flags == 0 && !check.InPlace {
		return s.replaceChecked(source, target, check)
	}
	if errno := s.mayReplace(target); errno != 0 {
		return errno
	}
	s.watch.Rename(source.watched(), target.watched(), flags&unix.RENAME_EXCHANGE != 0)
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
	target, errno := s.locateArg(c, int(int32(toAt)), to)
	if errno != 0 {
		return errno
	}
	defer target.close()
	if errno := s.mayAdd(target); errno != 0 {
		return errno
	}
	switch path, _ := s.nameOf(source); {
	case !s.granted(path):
		return syscall.EXDEV // as from another file system: programs copy then
	case s.mayChangeMode(source, nil) != 0:
		return syscall.EACCES
	}
	s.beforeFile(source, watch.Content) // writing to the new name changes this file
	s.beforePlace(target, watch.Content)
	return number(unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(source), target.dir, target.name, follow))
}

func (s *supervisor) symlink(c caller, text, at, path uint64) syscall.Errno {
	target, errno := c.text(text, syscall.PathMax)
	if errno != 0 {
		return errno
	}
	p, errno := s.locateArg(c, int(int32(at)), path)
	if errno != 0 {
		return errno
	}
	defer p.close()
	if errno := s.mayAdd(p); errno != 0 {
		return errno
	}
	if s.Guard.Holds(p.path, s.exists) {
		return refused
	}
	s.beforePlace(p, watch.Content)
	return number(unix.Symlinkat(target, p.dir, p.name))
}

func (s *supervisor) unlink(c caller, at, path uint64, flags int) syscall.Errno {
	p, errno := s.locateArg(c, int(int32(at)), path)
	if errno != 0 {
		return errno
	}
	defer p.close()
	if errno := p.exists(); errno != 0 {
		return errno
	}
	if errno := s.mayRemove(p); errno != 0 {
		return errno
	}
	s.beforePlace(p, watch.Content)
	return number(unix.Unlinkat(p.dir, p.name, flags))
}

func (s *supervisor) mkdir(c caller, at, path, mode uint64) syscall.Errno {
	p, errno := s.locateArg(c, int(int32(at)), path)
	if errno != 0 {
		return errno
	}
	defer p.close()
	if errno := s.mayAdd(p); errno != 0 &&
		!(errno == refused && s.granted(filepath.Dir(p.path)) && s.Guard.Directory(p.path)) {
		return errno
	}
	s.beforePlace(p, watch.Content)
	wanted := uint32(mode) &^ s.status.umask(c.pid) &^ setIDs
	if err := unix.Mkdirat(p.dir, p.name, wanted); err != nil {
		return number(err)
	}
	return s.withMode(p, wanted)
}

// withMode sets the mode of a new file, which the host's umask may have reduced.
func (s *supervisor) withMode(p dirEntry, mode uint32) syscall.Errno {
	if mode&s.umask == 0 {
		return 0
	}
	fd, errno := step(p.dir, p.name)
	if errno != 0 {
		return errno
	}
	defer syscall.Close(fd)
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return number(err)
	}
	mode |= stat.Mode & syscall.S_ISGID // inherited from the directory
	return number(syscall.Chmod("/proc/self/fd/"+strconv.Itoa(fd), mode&0o7777))
}

func (s *supervisor) mknod(c caller, at, path, mode uint64) syscall.Errno {
	if kind := mode & typeMask; mode&setIDs != 0 || kind == charDevice || kind == blockDevice {
		return syscall.EPERM
	}
	p, errno := s.locateArg(c, int(int32(at)), path)
	if errno != 0 {
		return errno
	}
	defer p.close()
	if errno := s.mayAdd(p); errno != 0 {
		return errno
	}
	s.beforePlace(p, watch.Content)
	wanted := uint32(mode) &^ s.status.umask(c.pid)
	if err := unix.Mknodat(p.dir, p.name, wanted, 0); err != nil {
		return number(err)
	}
	return s.withMode(p, wanted)
}

// statusFile is the status file of the process that asked last. It stays open: a program often makes many files.
type statusFile struct {
	pid  int // 0 for none
	file int
}

// umask returns a process's, or all bits if it has ended. Every new file asks for it, so only two lines are read: a
// name of at most 64 bytes, and the mask.
func (f *statusFile) umask(pid int) uint32 {
	var head [128]byte
	n, err := 0, error(syscall.ESRCH)
	if f.pid == pid {
		n, err = unix.Pread(f.file, head[:], 0) // fails if another process has the number now
	}
	if err != nil {
		f.close()
		file, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/status", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return 0o777
		}
		f.pid, f.file = pid, file
		n, _ = unix.Pread(file, head[:], 0)
	}
	_, rest, found := bytes.Cut(head[:max(n, 0)], []byte("\nUmask:\t"))
	value, _, ended := bytes.Cut(rest, []byte("\n"))
	mask, err := strconv.ParseUint(string(value), 8, 32)
	if !found || !ended || err != nil {
		return 0o777
	}
	return uint32(mask)
}

func (f *statusFile) close() {
	if f.pid != 0 {
		_ = syscall.Close(f.file)
	}
	f.pid = 0
}
