package launch

import (
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// answerOpen answers a call that opens a file.
func (s *supervisor) answerOpen(n *notification, c caller, call openCall) {
	fd, errno := s.openFile(c, call)
	switch {
	case errno == syscall.EAGAIN && fd >= 0:
		if p := (waitingPipe{n.id, fd, call.flags}); s.openPipe(p) {
			_ = syscall.Close(fd)
		} else {
			s.pipes = append(s.pipes, p)
		}
	case errno != 0:
		s.answer(n.id, errno)
	default:
		s.hand(n.id, fd, call.flags)
		_ = syscall.Close(fd)
	}
}

// waitingPipe is a named pipe that a caller waits to open until somebody has it
// open at the other end.
type waitingPipe struct {
	id          uint64
	file, flags int
}

// pipePause is how many milliseconds it takes at most until a pipe is seen to be open
// at the other end.
const pipePause = 2

// openPipes answers the callers whose pipes can be opened now.
func (s *supervisor) openPipes() {
	s.pipes = slices.DeleteFunc(s.pipes, func(p waitingPipe) bool {
		done := !s.waits(p.id) || s.openPipe(p)
		if done {
			_ = syscall.Close(p.file)
		}
		return done
	})
}

// openPipe opens a named pipe if that needs no waiting, and answers its caller.
func (s *supervisor) openPipe(p waitingPipe) (answered bool) {
	plain := p.flags &^ (unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_TRUNC)
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(p.file), plain|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil && p.flags&unix.O_NONBLOCK == 0 {
		err = unix.SetNonblock(fd, false)
	}
	switch {
	case err == nil:
		s.hand(p.id, fd, p.flags)
		_ = syscall.Close(fd)
	case err == unix.ENXIO && p.flags&unix.O_NONBLOCK == 0:
		return false
	default:
		s.answer(p.id, number(err))
	}
	return true
}

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
