package plugins

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// tieToHost makes the kernel kill the process when the host dies.
func tieToHost(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitExit waits until the process has ended and leaves it as a zombie, so that its id still names it and its
// group.
func (g *processGroup) awaitExit() bool {
	for {
		err := unix.Waitid(unix.P_PID, g.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
