package launch

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/fault"
	"github.com/toolhost/toolhost/internal/run/watch"
)

// A system call filter cannot see what a path means. So the filter hands calls
// that change a path to a supervisor, a thread of the host without any rights
// beyond the user's, which finds the file from the caller's own root and
// directories, looks whether it may be changed, tells the watcher, and makes the
// call for the program. The arguments are read once, and the call is made on the
// descriptors that were looked at. A call that cannot be followed fails.
//
// At level landlock, which has no say over owners, times and extended attributes,
// calls that change those are handed over as well.

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

// Access is what a supervised program may change.
type Access struct {
	// Writable are the trees, and Devices the device files and their directories.
	Writable, Devices []string
	// Guard keeps names in the trees from being changed.
	Guard Guard
	// View says that the program sees a view of its own, which confines what it
	// reads, as at level full.
	View bool
}

// supervisor answers the calls that the filter hands over.
type supervisor struct {
	Access
	listener int
	watch    watch.Watcher
	// root is the caller's root directory, and rootName what the kernel calls it
	// here. All processes of a sandbox have the same.
	root     int
	rootName string
	pipes    []waitingPipe
	drafts   []*draft
	// umask is the host's own, which the kernel applies to what is made here.
	umask uint32
	// mighty says that the supervisor may do what the permission bits deny.
	mighty bool
	// raised says that it has these rights at this moment: only what may be written
	// to is opened then.
	raised bool
	// now is the call that is being answered, interrupted the answers that did not
	// reach their callers, by their thread.
	now         notification
	interrupted map[uint32]interrupted
}

// Supervise waits for a launcher's listener and answers the calls that come by
// it, until the command and all that it has started have ended. The watcher may
// be nil. It gives the launcher's end of the socket, for Plan.Supervisor.
func Supervise(access Access, w watch.Watcher) (theirs *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, failure("socket for the supervisor", err)
	}
	ours := pair[0]
	if err := unix.SetNonblock(ours, true); err != nil {
		return nil, failure("socket for the supervisor", err)
	}
	if w == nil {
		w = nobody{}
	}
	s := supervisor{Access: access, watch: w, root: -1}
	done := w.Begin()
	go func() {
		defer done()
		s.supervise(os.NewFile(uintptr(ours), "supervisor"))
	}()
	return os.NewFile(uintptr(pair[1]), "supervisor"), nil
}

// supervise takes a thread when there is something to do: most commands change
// nothing of the kind.
func (s *supervisor) supervise(socket *os.File) {
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
	if s.limitRights() != nil {
		return // what nobody answers fails
	}
	s.umask = caller{pid: os.Getpid()}.umask()
	raw, err := listener.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		s.listener = int(fd)
		flags := uint64(syncWakeUp)
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, fd, notifyFlags, uintptr(flags))
		s.serve()
		s.close()
	})
}

// close closes what the supervisor has open.
func (s *supervisor) close() {
	s.settle(true)
	s.forgetInterrupted(time.Time{})
	if s.root >= 0 {
		_ = syscall.Close(s.root)
	}
	for _, p := range s.pipes {
		_ = syscall.Close(p.file)
	}
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
	for {
		timeout := -1
		switch {
		case len(s.pipes) > 0 || s.waiting():
			timeout = pipePause
		case len(s.interrupted) > 0:
			timeout = int(repeatWithin.Milliseconds())
		}
		events := pending(s.listener, timeout)
		if events != 0 && events&unix.POLLIN == 0 {
			return
		}
		s.openPipes()
		s.settle(false)
		if len(s.interrupted) > 0 {
			s.forgetInterrupted(time.Now())
		}
		var n notification
		if events == 0 || s.control(notifyReceive, unsafe.Pointer(&n)) != nil {
			continue // the caller has ended
		}
		s.now = n
		if !s.repeated() {
			s.make(&n)
		}
	}
}

// make makes a call for the program and answers it.
func (s *supervisor) make(n *notification) {
	defer fault.Contain("made a call for a command", func(err error) {
		s.watch.Missed(err.Error())
		s.answer(n.id, syscall.EIO)
	})
	c := caller{pid: int(n.pid), root: s.root, waits: func() bool { return s.waits(n.id) }}
	if s.root < 0 {
		if errno := s.enterRoot(&c); errno != 0 {
			s.answer(n.id, errno)
			return
		}
	}
	if call, ok := parseOpen(int(n.nr), n.args); ok {
		s.answerOpen(n, c, call)
		return
	}
	s.answer(n.id, s.withRights(func() syscall.Errno { return s.handle(c, n) }))
}

// waits reports whether a caller still waits for its answer. It may have ended, and
// its number have been given to another process.
func (s *supervisor) waits(id uint64) bool { return s.control(notifyValid, unsafe.Pointer(&id)) == nil }

// enterRoot opens the caller's root directory, which no call lets it change.
func (s *supervisor) enterRoot(c *caller) syscall.Errno {
	fd, errno := openDescriptor("/proc/" + strconv.Itoa(c.pid) + "/root")
	if errno != 0 {
		return errno
	}
	name, ok := nameOf(fd)
	if !ok || !c.waits() {
		_ = syscall.Close(fd)
		return syscall.ESRCH
	}
	if name == "/" {
		name = ""
	}
	s.root, s.rootName, c.root = fd, name, fd
	return 0
}

// nameOf is the path of an open file as the caller sees it.
func (s *supervisor) nameOf(fd int) (path string, ok bool) {
	path, ok = nameOf(fd)
	if !ok || s.rootName == "" || !strings.HasPrefix(path, "/") {
		return path, ok
	}
	rest, ok := strings.CutPrefix(path, s.rootName)
	switch {
	case !ok || rest != "" && rest[0] != '/':
		return "", false
	case rest == "":
		return "/", true
	}
	return rest, true
}

// control makes a request to the listener. The kernel gives up where it would wait for
// another one's and a signal comes, as Go's runtime sends them: it is made again then.
func (s *supervisor) control(request uintptr, p unsafe.Pointer) error {
	for {
		switch _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s.listener), request, uintptr(p)); errno {
		case 0:
			return nil
		case syscall.EINTR:
		default:
			return errno
		}
	}
}

// handle makes one call for the program.
func (s *supervisor) handle(c caller, n *notification) syscall.Errno {
	if errno, ok := s.files(c, n); ok {
		return errno
	}
	change, errno := c.parse(int(n.nr), n.args)
	if errno != 0 {
		return errno
	}
	fd, errno := c.open(change.file)
	if errno != 0 {
		return errno
	}
	defer syscall.Close(fd)
	if errno := s.mayChangeMode(fd, change.mode); errno != 0 {
		return errno
	}
	s.beforeFile(fd, watch.Attributes)
	return change.change("/proc/self/fd/" + strconv.Itoa(fd))
}

// mayChange says whether an open file lies where the program may write. A file
// without a name is nobody else's.
func (s *supervisor) mayChange(fd int) syscall.Errno { return s.mayChangeMode(fd, nil) }

// mayChangeMode is mayChange for a call that sets a mode, if it is one. Git tries with
// its configuration whether the bit for execution can be set.
func (s *supervisor) mayChangeMode(fd int, mode *uint64) syscall.Errno {
	var stat syscall.Stat_t
	path, ok := s.nameOf(fd)
	if !ok || syscall.Fstat(fd, &stat) != nil {
		return syscall.EPERM
	}
	if stat.Nlink == 0 {
		path = strings.TrimSuffix(path, " (deleted)")
	}
	switch {
	case !s.granted(path):
		return s.outside(syscall.EPERM)
	case s.protected(path) && !(s.checked(path) != nil && onlyExecute(stat.Mode, mode)):
		return refused
	}
	return 0
}

// outside is the error for what lies where the program may not write: in a view,
// which is read-only there, as the kernel has it.
func (s *supervisor) outside(otherwise syscall.Errno) syscall.Errno {
	if s.View {
		return syscall.EROFS
	}
	return otherwise
}

// caller is a process that waits for its call.
type caller struct {
	pid   int
	root  int // its root directory
	waits func() bool
}

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
		return c.openOwn(f.at)
	}
	base, errno := c.enter(f.at, f.path)
	if errno != 0 {
		return -1, errno
	}
	defer syscall.Close(base)
	flags := uint64(0)
	if f.noFollow {
		flags = syscall.O_NOFOLLOW
	}
	return c.resolve(base, f.path, flags)
}

// openOwn opens what the caller has open, for no access.
func (c caller) openOwn(number int) (int, syscall.Errno) {
	fd, errno := openDescriptor(c.descriptor(number))
	if errno == 0 && !c.waits() {
		_ = syscall.Close(fd)
		return -1, syscall.ESRCH
	}
	return fd, errno
}

// resolve opens a path from a directory as the caller sees it, for no access. Magic
// links of /proc are not followed: they could mean the supervisor's own files.
func (c caller) resolve(base int, path string, flags uint64) (int, syscall.Errno) {
	how := uint64(unix.RESOLVE_NO_MAGICLINKS)
	if strings.HasPrefix(path, "/") {
		base, how = c.root, how|unix.RESOLVE_IN_ROOT
	} else {
		how |= unix.RESOLVE_BENEATH
	}
	fd, errno := openPath(base, path, flags, how)
	switch errno {
	// It leads up, or there is no such call, or nothing is there, as where /proc/self is the supervisor and not the caller.
	case syscall.EXDEV, syscall.EAGAIN, syscall.ENOSYS, syscall.ENOENT:
		return walk(c.root, base, path, flags&syscall.O_NOFOLLOW != 0)
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

// Openat2 is why there is no openat2 here, 0 where there is.
func Openat2() syscall.Errno {
	fd, errno := openPath(unix.AT_FDCWD, "/", 0, 0)
	if errno == 0 {
		_ = syscall.Close(fd)
	}
	return errno
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

// onlyExecute reports whether a call changes nothing but the bits for execution.
func onlyExecute(old uint32, mode *uint64) bool {
	const others = 0o7666
	return mode != nil && uint64(old)&others == *mode&others
}
