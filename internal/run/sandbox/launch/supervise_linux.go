package launch

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/watch"
)

// Landlock has no say over modes, owners, times and extended attributes, and a
// system call filter cannot see what a path means. So at level landlock the
// filter hands those calls to a supervisor, a thread of the host without any
// rights beyond the user's, which finds the file, looks whether it may be
// changed, and changes it in the program's stead: what has been looked at is
// what is changed.

// Requests to the listener of a filter.
const (
	notifyReceive = 0xc0502100
	notifySend    = 0xc0182101
	notifyValid   = 0x40082102
	notifyAddFile = 0x40182103
	notifyFlags   = 0x40082104
)

// syncWakeUp has the kernel run caller and supervisor on one processor (Linux
// 6.6), which makes an answer several times as fast.
const syncWakeUp = 1

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
	writable, devices []string
	guard             Guard
	listener          int
	watch             watch.Watcher // may be nil
	// lets is for calls that go on when they have been seen, because the view
	// confines them.
	lets bool
	root int // the caller's root directory, once it was needed
}

// Supervise waits for a launcher's listener and answers the calls that come by
// it, until the command and all that it has started have ended. The command may
// change what lies below one of writable, but for what the guard keeps, and use
// the devices. It gives the launcher's end of the socket, for Plan.Supervisor.
func Supervise(writable, devices []string, guard Guard, w watch.Watcher) (theirs *os.File, err error) {
	return supervised(supervisor{writable: writable, devices: devices, guard: guard, watch: w})
}

// Observe is Supervise for a launcher whose view confines what the command may
// change: the watcher sees each change, and the call goes on.
func Observe(w watch.Watcher) (theirs *os.File, err error) {
	return supervised(supervisor{watch: w, lets: true})
}

func supervised(s supervisor) (theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, failure("socket for the supervisor", err)
	}
	ours := pair[0]
	if err := unix.SetNonblock(ours, true); err != nil {
		return nil, failure("socket for the supervisor", err)
	}
	s.root = -1
	if s.watch == nil {
		s.watch = nobody{}
	}
	done := s.watch.Begin()
	go func() {
		defer done()
		supervise(os.NewFile(uintptr(ours), "supervisor"), s)
	}()
	return os.NewFile(uintptr(pair[1]), "supervisor"), nil
}

// supervise takes a thread when there is something to do: most commands change
// nothing of the kind.
func supervise(socket *os.File, s supervisor) {
	listener, err := receive(socket)
	_ = socket.Close()
	if err != nil {
		return // the launcher has ended before
	}
	defer listener.Close()
	if !awaitCall(listener) {
		return
	}
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	if dropThreadRights() != nil {
		return // what nobody answers fails
	}
	if !s.lets { // it makes files
		if unix.Unshare(unix.CLONE_FS) != nil {
			return
		}
		unix.Umask(0) // of this thread alone, now: the caller's counts
	}
	raw, err := listener.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		s.listener = int(fd)
		flags := uint64(syncWakeUp)
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, notifyFlags, uintptr(flags))
		s.serve()
	})
}

// receive takes the listener from the socket.
func receive(socket *os.File) (listener *os.File, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	content, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	var length int
	if waitErr := raw.Read(func(fd uintptr) bool {
		_, length, _, _, err = unix.Recvmsg(int(fd), content, rights, unix.MSG_CMSG_CLOEXEC)
		return err != unix.EAGAIN
	}); waitErr != nil {
		return nil, waitErr
	}
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:length])
	if err != nil || len(messages) != 1 {
		return nil, unix.EPROTO
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, unix.EPROTO
	}
	if err := unix.SetNonblock(fds[0], true); err != nil { // so that Go can wait for it
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "listener"), nil
}

// awaitCall waits for the first call; false is the end.
func awaitCall(listener *os.File) (called bool) {
	raw, err := listener.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Read(func(fd uintptr) bool {
		events := pending(int(fd), 0)
		called = events&unix.POLLIN != 0
		return events != 0
	})
	return called && err == nil
}

// pending waits for events of a listener, at most so many milliseconds.
func pending(fd, timeout int) (events int16) {
	for {
		list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(list, timeout); err != unix.EINTR {
			return list[0].Revents
		}
	}
}

func (s *supervisor) serve() {
	for pending(s.listener, -1)&unix.POLLIN != 0 {
		var n notification
		if s.control(notifyReceive, unsafe.Pointer(&n)) != nil {
			continue // its caller has ended
		}
		if s.lets {
			s.see(&n)
			s.proceed(n.id)
			continue
		}
		if call, ok := parseOpen(int(n.nr), n.args); ok {
			s.answerOpen(&n, call)
			continue
		}
		s.answer(n.id, s.handle(&n))
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
	if errno, ok := s.files(caller, n); ok {
		return errno
	}
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
	s.beforeFile(fd, watch.Attributes)
	return c.change("/proc/self/fd/" + strconv.Itoa(fd))
}

// mayChange reports whether an open file lies where the program may write. A
// file without a name is nobody else's.
func (s *supervisor) mayChange(fd int) bool {
	var stat syscall.Stat_t
	path, ok := nameOf(fd)
	if !ok || syscall.Fstat(fd, &stat) != nil {
		return false
	}
	if stat.Nlink == 0 {
		path = strings.TrimSuffix(path, " (deleted)")
	}
	return s.granted(path) && !s.guard.Protected(path)
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
	base := unix.AT_FDCWD
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
	fd, errno := openPath(base, f.path, flags, unix.RESOLVE_NO_MAGICLINKS)
	if errno == syscall.ENOSYS {
		fd, errno = walk(base, f.path, f.noFollow)
	}
	return fd, errno
}

// descriptor is where the kernel shows a descriptor of the caller.
func (c caller) descriptor(fd int) string {
	if fd == unix.AT_FDCWD {
		return "/proc/" + strconv.Itoa(c.pid) + "/cwd"
	}
	return "/proc/" + strconv.Itoa(c.pid) + "/fd/" + strconv.Itoa(fd)
}

// openDescriptor opens what the kernel shows at path, for no access.
func openDescriptor(path string) (int, syscall.Errno) {
	fd, err := syscall.Open(path, unix.O_PATH|syscall.O_CLOEXEC, 0)
	return fd, number(err)
}

func openPath(at int, path string, flags, resolve uint64) (int, syscall.Errno) {
	fd, err := unix.Openat2(at, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | flags, Resolve: resolve})
	return fd, number(err)
}

// read reads length bytes of the caller's memory, or as many as there are.
func (c caller) read(address uint64, length int) ([]byte, syscall.Errno) {
	buf := make([]byte, length)
	local := []unix.Iovec{{Base: unsafe.SliceData(buf), Len: uint64(length)}}
	remote := []unix.RemoteIovec{{Base: uintptr(address), Len: length}}
	if n, err := unix.ProcessVMReadv(c.pid, local, remote, 0); err == nil && n > 0 {
		return buf[:n], 0
	}
	fd, err := syscall.Open("/proc/"+strconv.Itoa(c.pid)+"/mem", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, syscall.EPERM
	}
	defer syscall.Close(fd)
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
