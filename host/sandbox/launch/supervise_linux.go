package launch

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// Landlock has no say over modes, owners, times and extended attributes, and a
// system call filter cannot see what a path means. So at level landlock the
// filter hands those calls to a supervisor, a thread of the launcher outside
// of Landlock, which finds the file, looks whether it may be changed, and
// changes it in the program's stead: what has been looked at is what is
// changed.

// Requests to the listener of a filter.
const (
	notifyReceive = 0xc0502100
	notifySend    = 0xc0182101
	notifyValid   = 0x40082102
)

// notification is struct seccomp_notif, answer struct seccomp_notif_resp.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

type answer struct {
	id    uint64
	value int64
	errno int32
	flags uint32
}

// supervisor answers the calls that the filter hands over.
type supervisor struct {
	writable []string
	listener int
}

// newSupervisor starts the supervisor's thread, which must come about before
// the calling thread is confined: threads inherit that. It waits for the
// listener.
func newSupervisor(writable []string) (listeners chan<- int, err error) {
	waiting, ready := make(chan int), make(chan error)
	go func() {
		runtime.LockOSThread()
		ready <- dropRights()
		s := supervisor{writable: writable, listener: <-waiting}
		s.serve()
	}()
	return waiting, <-ready
}

func (s *supervisor) serve() {
	for {
		var n notification
		switch err := s.control(notifyReceive, unsafe.Pointer(&n)); err {
		case nil:
			reply := answer{id: n.id}
			if errno := s.handle(&n); errno != 0 {
				reply.errno = -int32(errno)
			}
			_ = s.control(notifySend, unsafe.Pointer(&reply))
		case syscall.EINTR, syscall.ENOENT:
		default:
			return
		}
	}
}

func (s *supervisor) control(request uintptr, p unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s.listener), request, uintptr(p)); errno != 0 {
		return errno
	}
	return nil
}

// handle makes one call in the program's stead.
func (s *supervisor) handle(n *notification) syscall.Errno {
	caller := caller{pid: int(n.pid)}
	c, errno := caller.parse(int(n.nr), n.args)
	if errno != 0 {
		return errno
	}
	fd, errno := caller.open(c.file)
	if errno != 0 {
		return errno
	}
	defer syscall.Close(fd)
	// The process may have ended, and its number been given away.
	if s.control(notifyValid, unsafe.Pointer(&n.id)) != nil {
		return syscall.ESRCH
	}
	if !s.mayChange(fd) {
		return syscall.EPERM
	}
	return c.change("/proc/self/fd/" + strconv.Itoa(fd))
}

// mayChange reports whether an open file lies where the program may write. A
// file without a name is nobody else's.
func (s *supervisor) mayChange(fd int) bool {
	var stat syscall.Stat_t
	if syscall.Fstat(fd, &stat) != nil {
		return false
	}
	buf := make([]byte, syscall.PathMax)
	length, err := syscall.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf)
	if err != nil || length == len(buf) {
		return false
	}
	path := string(buf[:length])
	if stat.Nlink == 0 {
		path = strings.TrimSuffix(path, " (deleted)")
	}
	for _, root := range s.writable {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

// caller is a process that waits for its call.
type caller struct{ pid int }

// file names a file as a call does: by a descriptor, or by a path relative to
// one.
type file struct {
	at       int
	path     string
	byPath   bool
	noFollow bool
}

// open opens the file as the caller would, for no access.
func (c caller) open(f file) (int, syscall.Errno) {
	if number, ok := strings.CutPrefix(f.path, "/proc/self/fd/"); ok && f.byPath {
		if fd, err := strconv.Atoi(number); err == nil {
			f = file{at: fd}
		}
	}
	if !f.byPath || f.path == "" {
		return openDescriptor(c.descriptor(f.at))
	}
	base := atFdcwd
	if f.path[0] != '/' {
		dir, errno := openDescriptor(c.descriptor(f.at))
		if errno != 0 {
			return -1, errno
		}
		defer syscall.Close(dir)
		base = dir
	}
	flags := uint64(0)
	if f.noFollow {
		flags = syscall.O_NOFOLLOW
	}
	// Other magic links would mean the supervisor's own files.
	fd, errno := openPath(base, f.path, flags, noMagicLinks)
	if errno == syscall.ENOSYS {
		fd, errno = walk(base, f.path, f.noFollow)
	}
	return fd, errno
}

// descriptor is where the kernel shows a descriptor of the caller.
func (c caller) descriptor(fd int) string {
	if fd == atFdcwd {
		return "/proc/" + strconv.Itoa(c.pid) + "/cwd"
	}
	return "/proc/" + strconv.Itoa(c.pid) + "/fd/" + strconv.Itoa(fd)
}

const noMagicLinks = 0x2 // RESOLVE_NO_MAGICLINKS

// openDescriptor opens what the kernel shows at path, for no access.
func openDescriptor(path string) (int, syscall.Errno) {
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	return fd, number(err)
}

func openPath(at int, path string, flags, resolve uint64) (int, syscall.Errno) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, syscall.EINVAL
	}
	how := openHow{flags: oPath | syscall.O_CLOEXEC | flags, resolve: resolve}
	fd, _, errno := syscall.Syscall6(sysOpenat2Call, uintptr(at), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	return int(fd), errno
}

// read reads length bytes of the caller's memory, or as many as there are.
func (c caller) read(address uint64, length int) ([]byte, syscall.Errno) {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(c.pid)+"/mem", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, syscall.EPERM
	}
	defer syscall.Close(fd)
	buf := make([]byte, length)
	n, err := syscall.Pread(fd, buf, int64(address))
	if err != nil || n <= 0 {
		return nil, syscall.EFAULT
	}
	return buf[:n], 0
}

// text reads a string that ends in NUL.
func (c caller) text(address uint64, limit int) (string, syscall.Errno) {
	var text []byte
	for len(text) < limit {
		// Not beyond the page, behind which there may be nothing.
		part, errno := c.read(address, min(limit-len(text), 4096-int(address%4096)))
		if errno != 0 {
			return "", errno
		}
		for i, b := range part {
			if b == 0 {
				return string(append(text, part[:i]...)), 0
			}
		}
		text = append(text, part...)
		address += uint64(len(part))
	}
	return "", syscall.ENAMETOOLONG
}
