package launch

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// secureAllLocked are the secure bits for no root privileges and no fixups, both locked.
const secureAllLocked = 0x2f

var capabilities = sync.OnceValue(func() int {
	const most = 64
	text, _ := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	last, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || last >= most {
		return most
	}
	return last + 1
})

// undumpable keeps the program from writing into the launcher's memory.
func (s *script) undumpable() { s.try(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0) }

// dropRights drops every capability, which root may have, for good.
func (s *script) dropRights() {
	var dropped label
	s.undumpable()
	s.try(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	// This and the next call fail without the right to them; then there is nothing to drop.
	for capability := range capabilities() {
		s.try(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, capability).failing(&dropped)
	}
	s.here(&dropped)
	s.try(unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, secureAllLocked)
	version := s.words(unix.LINUX_CAPABILITY_VERSION_3)
	s.call("capset", unix.SYS_CAPSET, version, s.words(0, 0, 0))
	s.call("no_new_privs", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
}

// byPass are root's capabilities to change files of others despite permission bits and ownership.
const byPass = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER

// limitRights drops the capabilities of the calling host thread except byPass, which become inactive. The
// bounding set may stay: the thread starts no program, and secure bits and no_new_privs would deny them.
func (s *supervisor) limitRights() error {
	_ = unix.Prctl(unix.PR_SET_SECUREBITS, secureAllLocked, 0, 0, 0) // fails where there is nothing to drop
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var had [2]unix.CapUserData
	if err := unix.Capget(&header, &had[0]); err != nil {
		return failure("capget", err)
	}
	s.mighty = had[0].Effective&byPass != 0
	if err := raiseRights(had[0].Effective&byPass, 0); err != nil {
		return failure("capset", err)
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

func raiseRights(permitted, effective uint32) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{{Permitted: permitted, Effective: effective}}
	return unix.Capset(&header, &data[0])
}

// withRights makes a call and, if permission bits deny it, again with root's rights outside the sandbox: the
// call itself checks both times whether the change is allowed. If that fails too, it returns the first error,
// so that nothing leaks about places the program cannot see.
func (s *supervisor) withRights(call func() syscall.Errno) syscall.Errno {
	errno := call()
	if !s.mighty || errno != syscall.EACCES && errno != syscall.EPERM {
		return errno
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	if unix.Capget(&header, &has[0]) != nil || raiseRights(has[0].Permitted, has[0].Permitted) != nil {
		return errno
	}
	s.raised = true
	defer func() { s.raised = raiseRights(has[0].Permitted, 0) != nil }()
	again := call()
	if again == 0 || again == syscall.EAGAIN {
		return again
	}
	return errno
}

// leaveTerminal gives up the controlling terminal, into which a program could otherwise type.
func (s *script) leaveTerminal() {
	var none label
	fd := s.cell()
	s.try(unix.SYS_OPENAT, unix.AT_FDCWD, "/dev/tty", unix.O_RDWR|unix.O_CLOEXEC).into(fd).failing(&none)
	s.try(unix.SYS_IOCTL, fd, unix.TIOCNOTTY)
	s.try(unix.SYS_CLOSE, fd)
	s.here(&none)
}

func (s *script) loopbackUp() {
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}, flags: unix.IFF_UP | unix.IFF_RUNNING}
	fd := s.cell()
	s.call("socket for the loopback interface", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC,
		0).into(fd)
	s.call("start the loopback interface", unix.SYS_IOCTL, fd, unix.SIOCSIFFLAGS,
		s.buffer(unsafe.Slice((*byte)(unsafe.Pointer(&request)), unsafe.Sizeof(request))))
	s.try(unix.SYS_CLOSE, fd)
}

type failed struct {
	step  string
	errno error
}

func (f failed) Error() string { return f.step + ": " + f.errno.Error() }
func (f failed) Unwrap() error { return f.errno }

func failure(step string, err error) error { return failed{step, err} }

func number(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	if errno, ok := err.(syscall.Errno); ok {
		return errno
	}
	return syscall.EPERM
}
