package launch

import (
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

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
