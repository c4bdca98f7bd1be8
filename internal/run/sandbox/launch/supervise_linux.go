package launch

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/fault"
	"github.com/toolhost/toolhost/internal/run/watch"
)

// A system call filter cannot see what a path means. So it hands calls that change a path to a supervisor, a
// thread of the host with only the user's rights. It resolves the file from the caller's own root and
// directories, checks whether it may be changed, notifies the watcher, and makes the call for the program.
// Arguments are read once, and the call is made on the descriptors that were checked. A call that cannot be
// followed fails.
//
// At level landlock, which does not cover owners, times and extended attributes, calls that change those are
// handed over too.

// Requests to the listener of a filter.
const (
	notifyReceive = 0xc0502100
	notifySend    = 0xc0182101
	notifyValid   = 0x40082102
	notifyAddFile = 0x40182103
	notifyFlags   = 0x40082104
)

// syncWakeUp makes the kernel run caller and supervisor on one processor (Linux 6.6), several times as fast.
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
	// Writable are the trees, Devices the device files and their directories.
	Writable, Devices []string
	// Guard keeps names in the trees from being changed.
	Guard Guard
	// View is set if the program sees a view, which confines what it reads, as at level full.
	View bool
}

// supervisor answers the calls that the filter hands over.
type supervisor struct {
	Access
	listener int
	watch    watch.Watcher
	// root is the caller's root directory, rootName its name here. All processes of a sandbox share it.
	root     int
	rootName string
	pipes    []waitingPipe
	drafts   []*draft
	// umask is the host's, which the kernel applies to new files.
	umask  uint32
	status statusFile
	// mighty is set if the supervisor can override permission bits.
	mighty bool
	// raised is set while it uses these rights: only writable files are opened then.
	raised bool
	// now is the call being answered; interrupted are answers that did not reach their callers, by thread.
	now         notification
	interrupted map[uint32]interrupted
}

// Supervise waits for a launcher's listener and answers its calls until the command and its descendants have
// ended. w may be nil. It returns the launcher's end, for Plan.Supervisor.
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
		w = unwatched{}
	}
	s := supervisor{Access: access, watch: w, root: -1}
	done := w.Begin()
	go func() {
		defer done()
		s.supervise(os.NewFile(uintptr(ours), "supervisor"))
	}()
	return os.NewFile(uintptr(pair[1]), "supervisor"), nil
}

// supervise takes a thread only after the first call: most commands make none.
func (s *supervisor) supervise(socket *os.File) {
	listener, err := receive(socket)
	_ = socket.Close()
	if err != nil {
		return // the launcher ended before
	}
	s.listener, err = awaitCall(listener)
	_ = listener.Close()
	if err != nil {
		return
	}
	defer syscall.Close(s.listener)
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	if s.limitRights() != nil {
		return // an unanswered call fails
	}
	s.umask = s.status.umask(os.Getpid())
	flags := uint64(syncWakeUp)
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(s.listener), notifyFlags, uintptr(flags))
	s.serve()
	s.close()
}

func (s *supervisor) close() {
	s.applyDrafts(true)
	s.forgetInterrupted(time.Time{})
	s.status.close()
	if s.root >= 0 {
		_ = syscall.Close(s.root)
	}
	for _, p := range s.pipes {
		_ = syscall.Close(p.file)
	}
}

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
	if err := unix.SetNonblock(fds[0], true); err != nil { // so that Go's poller can wait for it
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "listener"), nil
}

// awaitCall waits for the first call, and returns a descriptor of the listener that Go's poller does not watch:
// it would wake a second thread at each call. It fails if there will be no call.
func awaitCall(listener *os.File) (fd int, err error) {
	raw, err := listener.SyscallConn()
	if err != nil {
		return -1, err
	}
	errno := syscall.ECANCELED
	if err := raw.Read(func(watched uintptr) bool {
		events := pending(int(watched), 0)
		if events&unix.POLLIN != 0 {
			fd, errno = duplicate(int(watched))
		}
		return events != 0
	}); err != nil {
		return -1, err
	}
	if errno != 0 {
		return -1, errno
	}
	return fd, nil
}

// pending waits for events of a listener, at most timeout milliseconds.
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
		case len(s.pipes) > 0 || slices.ContainsFunc(s.drafts, func(d *draft) bool { return !d.settled }):
			timeout = pipePause
		case len(s.interrupted) > 0:
			timeout = int(repeatWithin.Milliseconds())
		}
		events := pending(s.listener, timeout)
		if events != 0 && events&unix.POLLIN == 0 {
			return
		}
		s.openPipes()
		s.applyDrafts(false)
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

// waits reports whether a caller still waits for its answer. It may have ended and its number been reused.
func (s *supervisor) waits(id uint64) bool { return s.control(notifyValid, unsafe.Pointer(&id)) == nil }

// enterRoot opens the caller's root directory, which the caller cannot change.
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

// nameOf returns the path of an open file as the caller sees it.
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

// control makes a request to the listener, again if interrupted by a signal, as Go's runtime sends them.
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

// mayChangeMode checks whether an open file lies where the program may write; mode is set by a call that
// changes it. An unnamed file is the program's own. Git tests whether the execute bit of its configuration can
// be set.
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

// outside is the error outside the writable trees: EROFS in a view, as from the kernel.
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

// file is a file as a call names it: by a descriptor, or by a path relative to one.
type file struct {
	at       int
	path     string
	byPath   bool
	noFollow bool
}

// open opens the file as the caller would, with O_PATH.
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

func (c caller) openOwn(number int) (int, syscall.Errno) {
	fd, errno := openDescriptor(c.descriptor(number))
	if errno == 0 && !c.waits() {
		_ = syscall.Close(fd)
		return -1, syscall.ESRCH
	}
	return fd, errno
}

// resolve opens a path from a directory as the caller sees it, with O_PATH. Magic links of /proc are not followed:
// they could mean the supervisor's own files.
func (c caller) resolve(base int, path string, flags uint64) (int, syscall.Errno) {
	how := uint64(unix.RESOLVE_NO_MAGICLINKS)
	if strings.HasPrefix(path, "/") {
		base, how = c.root, how|unix.RESOLVE_IN_ROOT
	} else {
		how |= unix.RESOLVE_BENEATH
	}
	fd, errno := openPath(base, path, flags, how)
	switch errno {
	// The path leads up, openat2 is missing, or the path is missing, as where /proc/self is the supervisor and
	// not the caller.
	case syscall.EXDEV, syscall.EAGAIN, syscall.ENOSYS, syscall.ENOENT:
		return walk(c.root, base, path, flags&syscall.O_NOFOLLOW != 0)
	}
	return fd, errno
}

func (c caller) descriptor(fd int) string {
	if fd == unix.AT_FDCWD {
		return "/proc/" + strconv.Itoa(c.pid) + "/cwd"
	}
	return "/proc/" + strconv.Itoa(c.pid) + "/fd/" + strconv.Itoa(fd)
}

func openDescriptor(path string) (int, syscall.Errno) {
	fd, err := syscall.Open(path, unix.O_PATH|syscall.O_CLOEXEC, 0)
	return fd, number(err)
}

// Openat2 is the errno of a missing openat2, else 0.
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
		// Not beyond the page: the next may be unmapped. Most paths are short.
		part, errno := c.read(address, min(limit-len(text), max(256, 4*len(text)), 4096-int(address%4096)))
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
