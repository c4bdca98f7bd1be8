package sandbox

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/run/sandbox/launch"
)

// confinedAlready reports whether the running program has system call filters and no_new_privs, which are
// irrevocable.
var confinedAlready = sync.OnceValue(func() bool {
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err != nil || mode != unix.SECCOMP_MODE_FILTER {
		return false
	}
	locked, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	return err == nil && locked == 1
})

// doubtful reports whether a cheap check suggests that level full may not work: a system call filter, a
// container, a kernel setting.
func doubtful() bool {
	const first = "pid:[4026531836]" // the kernel's PROC_PID_INIT_INO
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	space, linkErr := os.Readlink("/proc/self/ns/pid")
	return err != nil || mode == unix.SECCOMP_MODE_FILTER || linkErr != nil || space != first || namespaceRemedy() != ""
}

// around determines Report.Around, the nearest if there are several. At level landlock a supervisor answers
// system calls; at level full the launcher is process 1.
var around = sync.OnceValue(func() Level {
	if !confinedAlready() {
		return ""
	}
	first, _ := os.ReadFile("/proc/1/cmdline")
	inFull := strings.HasPrefix(string(first), launch.Name+"\x00")
	switch {
	case !(inFull && filters("self") == filters("1")) && supervised():
		return Landlock
	case inFull:
		return Full
	}
	return Other
})

// filters returns how many system call filters a process has; 0 if unknown. Each of toolhost's sandboxes adds
// one, level full to its first process as well.
func filters(process string) (n int) {
	status, _ := os.ReadFile("/proc/" + process + "/status")
	for line := range strings.Lines(string(status)) {
		if count, ok := strings.CutPrefix(line, "Seccomp_filters:"); ok {
			n, _ = strconv.Atoi(strings.TrimSpace(count))
		}
	}
	return n
}

// supervised reports whether a supervisor answers system calls of the running program: the kernel accepts no
// second one.
func supervised() bool {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends, and with it the filter if it got one
		allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
		program := unix.SockFprog{Len: 1, Filter: &allow}
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
			unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
		if errno == 0 {
			_ = unix.Close(int(fd))
		}
		result <- errno
	}()
	return <-result == unix.EBUSY
}
