package launch

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// change is a call that changes metadata of a file: the file and the operation, given a path that leads only to
// it.
type change struct {
	file   file
	change func(path string) syscall.Errno
	mode   *uint64 // the mode it sets, if any
}

const (
	atSymlinkNofollow = 0x100
	atEmpty           = 0x1000
	maxName           = 256
	maxValue          = 64 << 10
)

func (c caller) parse(nr int, a [6]uint64) (change, syscall.Errno) {
	switch nr {
	case sysChmod:
		return withMode(a[1])(c.withPath(unix.AT_FDCWD, a[0], 0, chmod(a[1])))
	case sysFchmod:
		return change{file: file{at: int(int32(a[0]))}, change: chmod(a[1]), mode: &a[1]}, 0
	case sysFchmodat:
		return withMode(a[2])(c.withPath(int(int32(a[0])), a[1], 0, chmod(a[2])))
	case sysFchmodat2:
		return withMode(a[2])(c.withPath(int(int32(a[0])), a[1], a[3], chmod(a[2])))
	case sysChown:
		return c.withPath(unix.AT_FDCWD, a[0], 0, chown(a[1], a[2]))
	case sysLchown:
		return c.withPath(unix.AT_FDCWD, a[0], atSymlinkNofollow, chown(a[1], a[2]))
	case sysFchown:
		return change{file: file{at: int(int32(a[0]))}, change: chown(a[1], a[2])}, 0
	case sysFchownat:
		return c.withPath(int(int32(a[0])), a[1], a[4], chown(a[2], a[3]))
	}
	if found, ok, errno := c.parseTimes(nr, a); ok {
		return found, errno
	}
	return c.parseXattr(nr, a)
}

func (c caller) parseTimes(nr int, a [6]uint64) (found change, ok bool, errno syscall.Errno) {
	at, path, times, flags, unit := unix.AT_FDCWD, a[0], a[1], uint64(0), int64(1000)
	switch nr {
	case sysUtime:
		unit = 0
	case sysUtimes:
	case sysFutimesat:
		at, path, times = int(int32(a[0])), a[1], a[2]
	case sysUtimensat:
		at, path, times, flags, unit = int(int32(a[0])), a[1], a[2], a[3], 1
	default:
		return change{}, false, 0
	}
	spec, errno := c.times(times, unit)
	if errno != 0 {
		return change{}, true, errno
	}
	apply := func(name string) syscall.Errno { return utimes(name, spec) }
	if path == 0 {
		return change{file: file{at: at}, change: apply}, true, 0
	}
	found, errno = c.withPath(at, path, flags, apply)
	return found, true, errno
}

// times reads two times, with fractions in unit nanoseconds; 0 means whole seconds. Nil means now.
func (c caller) times(address uint64, unit int64) (*[4]int64, syscall.Errno) {
	if address == 0 {
		return nil, 0
	}
	size := 32
	if unit == 0 {
		size = 16
	}
	raw, errno := c.read(address, size)
	if errno != 0 || len(raw) < size {
		return nil, syscall.EFAULT
	}
	var words [4]int64
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&words)), 32), raw)
	if unit == 0 {
		return &[4]int64{words[0], 0, words[1], 0}, 0
	}
	words[1], words[3] = words[1]*unit, words[3]*unit
	return &words, 0
}

func (c caller) parseXattr(nr int, a [6]uint64) (change, syscall.Errno) {
	set := nr == sysSetxattr || nr == sysLsetxattr || nr == sysFsetxattr
	if !set && nr != sysRemovexattr && nr != sysLremovexattr && nr != sysFremovexattr {
		return change{}, syscall.ENOSYS
	}
	name, errno := c.text(a[1], maxName)
	if errno != 0 {
		return change{}, errno
	}
	apply := func(path string) syscall.Errno { return number(syscall.Removexattr(path, name)) }
	if set {
		if a[3] > maxValue {
			return change{}, syscall.E2BIG
		}
		var value []byte
		if a[3] > 0 {
			if value, errno = c.read(a[2], int(a[3])); errno != 0 {
				return change{}, errno
			}
		}
		apply = func(path string) syscall.Errno { return number(syscall.Setxattr(path, name, value, int(a[4]))) }
	}
	switch nr {
	case sysFsetxattr, sysFremovexattr:
		return change{file: file{at: int(int32(a[0]))}, change: apply}, 0
	case sysLsetxattr, sysLremovexattr:
		return c.withPath(unix.AT_FDCWD, a[0], atSymlinkNofollow, apply)
	}
	return c.withPath(unix.AT_FDCWD, a[0], 0, apply)
}

func (c caller) withPath(at int, address, flags uint64, apply func(string) syscall.Errno) (change, syscall.Errno) {
	path, errno := c.text(address, syscall.PathMax)
	switch {
	case errno != 0:
		return change{}, errno
	case path == "" && flags&atEmpty == 0:
		return change{}, syscall.ENOENT
	}
	return change{file: file{at: at, path: path, byPath: true, noFollow: flags&atSymlinkNofollow != 0}, change: apply}, 0
}

func withMode(mode uint64) func(change, syscall.Errno) (change, syscall.Errno) {
	return func(made change, errno syscall.Errno) (change, syscall.Errno) {
		made.mode = &mode
		return made, errno
	}
}

// chmod sets a mode without set-ID bits.
func chmod(mode uint64) func(string) syscall.Errno {
	return func(path string) syscall.Errno {
		if mode&setIDs != 0 {
			return syscall.EPERM
		}
		return number(syscall.Chmod(path, uint32(mode)&0o7777))
	}
}

func chown(uid, gid uint64) func(string) syscall.Errno {
	return func(path string) syscall.Errno {
		return number(syscall.Chown(path, int(int32(uid)), int(int32(gid))))
	}
}

func utimes(path string, times *[4]int64) syscall.Errno {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return syscall.EINVAL
	}
	cwd := unix.AT_FDCWD
	_, _, errno := syscall.Syscall6(unix.SYS_UTIMENSAT, uintptr(cwd), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(times)), 0, 0, 0)
	return errno
}
