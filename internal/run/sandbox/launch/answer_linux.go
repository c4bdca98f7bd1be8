package launch

import (
	"slices"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func (s *supervisor) answerOpen(n *notification, c caller, call openCall) {
	var fd int
	errno := s.withRights(func() (errno syscall.Errno) {
		fd, errno = s.openFile(c, call)
		return errno
	})
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

// waitingPipe is a named pipe that a caller opens, which blocks until the other end is open.
type waitingPipe struct {
	id          uint64
	file, flags int
}

// pipePause is the pause between checks of a pipe's other end, in milliseconds.
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

// openPipe opens a named pipe if that does not block, and answers its caller.
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

// hand gives the program a copy of a descriptor as the result of its call. The kernel can do both at once, but
// if a signal reaches this thread meanwhile, as from Go's runtime, the call returns descriptor 0.
func (s *supervisor) hand(id uint64, fd, flags int) {
	add := addFile{id: id, source: uint32(fd), closes: uint32(flags & unix.O_CLOEXEC)}
	for {
		copied, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s.listener), notifyAddFile,
			uintptr(unsafe.Pointer(&add)))
		switch errno {
		case 0:
			reply := answer{id: id, value: int64(copied)}
			if s.control(notifySend, unsafe.Pointer(&reply)) == syscall.ENOENT {
				s.interrupt(id, interrupted{fd: fd, flags: flags})
			}
			return
		case syscall.EINTR:
		case syscall.ENOENT, syscall.ESRCH:
			s.interrupt(id, interrupted{fd: fd, flags: flags})
			return
		default:
			s.answer(id, errno)
			return
		}
	}
}

func (s *supervisor) answer(id uint64, errno syscall.Errno) {
	reply := answer{id: id, errno: -int32(errno)}
	if s.control(notifySend, unsafe.Pointer(&reply)) == syscall.ENOENT {
		s.interrupt(id, interrupted{fd: -1, errno: errno})
	}
}

// interrupted is an answer that did not reach its caller because of a signal: the caller repeats the call,
// which has been made already. It happens before Linux 6.0, see listenerFlags, and rarely before 6.18.
//
// Between the caller's seeing the signal and taking the filter's lock, these kernels lose an answer silently.
// Such a call is made twice; the documentation says so.
type interrupted struct {
	nr        int32
	args      [6]uint64
	until     time.Time
	errno     syscall.Errno
	fd, flags int // the opened descriptor, or -1
}

// Interrupted answers are kept briefly, and only a few: the caller may have ended.
const (
	repeatWithin    = time.Second
	mostInterrupted = 64
)

// interrupt keeps the answer to the present call that did not reach the caller, unless the caller had ended
// before anything was done (ESRCH).
func (s *supervisor) interrupt(id uint64, answer interrupted) {
	if id != s.now.id || answer.errno == syscall.ESRCH {
		return
	}
	answer.nr, answer.args, answer.until = s.now.nr, s.now.args, time.Now().Add(repeatWithin)
	if answer.fd >= 0 {
		fd, errno := duplicate(answer.fd)
		if errno != 0 {
			return
		}
		answer.fd = fd
	}
	if len(s.interrupted) == mostInterrupted {
		s.forgetInterrupted(time.Time{})
	}
	if s.interrupted == nil {
		s.interrupted = make(map[uint32]interrupted)
	}
	s.interrupted[s.now.pid] = answer
}

// repeated answers the present call if it repeats an interrupted one.
func (s *supervisor) repeated() bool {
	kept, found := s.interrupted[s.now.pid]
	if !found {
		return false
	}
	delete(s.interrupted, s.now.pid)
	if kept.fd >= 0 {
		defer syscall.Close(kept.fd)
	}
	if kept.nr != s.now.nr || kept.args != s.now.args {
		return false
	}
	if kept.fd >= 0 {
		s.hand(s.now.id, kept.fd, kept.flags)
	} else {
		s.answer(s.now.id, kept.errno)
	}
	return true
}

// forgetInterrupted forgets the answers kept until then, all for the zero time.
func (s *supervisor) forgetInterrupted(then time.Time) {
	for pid, kept := range s.interrupted {
		if !then.IsZero() && then.Before(kept.until) {
			continue
		}
		if kept.fd >= 0 {
			_ = syscall.Close(kept.fd)
		}
		delete(s.interrupted, pid)
	}
}
