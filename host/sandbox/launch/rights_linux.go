package launch

import (
	"syscall"
	"unsafe"
)

// Options of prctl(2) and what goes with them.
const (
	prSetDumpable       = 4
	prCapbsetDrop       = 24
	prSetSecurebits     = 28
	prSetChildSubreaper = 36
	prSetNoNewPrivs     = 38
	prCapAmbient        = 47
	ambientClearAll     = 4
	secureAllLocked     = 0x2f // no rights for the root user, no fixups, and both locked
	capabilityLatest    = 0x20080522
)

func prctl(option, a, b uintptr) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, option, a, b, 0, 0, 0)
	return errno
}

// dropRights gives up every capability for good, which the root user may have
// to begin with, and any way to new ones.
func dropRights() error {
	// Not dumpable: the program must not write into the launcher's memory.
	prctl(prSetDumpable, 0, 0)
	prctl(prCapAmbient, ambientClearAll, 0)
	// Both fail without the right to them, and then there is nothing to drop.
	for capability := uintptr(0); prctl(prCapbsetDrop, capability, 0) == 0; capability++ {
	}
	prctl(prSetSecurebits, secureAllLocked, 0)
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityLatest}
	var none [6]uint32
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	if errno != 0 {
		return failure("capset", errno)
	}
	if errno := prctl(prSetNoNewPrivs, 1, 0); errno != 0 {
		return failure("no_new_privs", errno)
	}
	return nil
}

func setLimit(limit Limit) error {
	value := syscall.Rlimit{Cur: limit.Value, Max: limit.Value}
	if err := syscall.Setrlimit(limit.Resource, &value); err != nil {
		return failure("setrlimit", err)
	}
	return nil
}

const tiocnotty = 0x5422

// leaveTerminal gives up the controlling terminal, into which a program could
// otherwise type.
func leaveTerminal() {
	fd, err := syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), tiocnotty, 0)
	_ = syscall.Close(fd)
}

// loopbackUp makes 127.0.0.1 work in a new network namespace.
func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return failure("socket for the loopback interface", err)
	}
	defer syscall.Close(fd)
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}, flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return failure("start the loopback interface", errno)
	}
	return nil
}
