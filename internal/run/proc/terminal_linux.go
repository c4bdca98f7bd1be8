package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenTerminal makes a pseudo-terminal of a size for a command.
func OpenTerminal(size Size) (*Terminal, error) {
	host, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, noTerminal(err)
	}
	t := &Terminal{host: host}
	err = t.control(func(fd int) error {
		if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
			return err
		}
		const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
		theirs, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, flags)
		if errno != 0 {
			return errno
		}
		t.theirs = os.NewFile(theirs, "terminal")
		return nil
	})
	if err == nil {
		err = t.Resize(size)
	}
	if err != nil {
		t.Close()
		return nil, noTerminal(err)
	}
	return t, nil
}

// Resize sets the terminal's size and notifies its programs.
func (t *Terminal) Resize(size Size) error {
	return t.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Columns})
	})
}

// Signal sends a signal to the programs in the terminal's foreground.
func (t *Terminal) Signal(signal syscall.Signal) error {
	return t.control(func(fd int) error {
		group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		if err != nil || group <= 0 {
			return unix.ESRCH
		}
		return unix.Kill(-group, signal)
	})
}

// Silent reports whether typed text is not shown, as at a password prompt.
func (t *Terminal) Silent() (silent bool) {
	err := t.control(func(fd int) error {
		state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		silent = err == nil && state.Lflag&unix.ECHO == 0 && state.Lflag&unix.ICANON != 0
		return err
	})
	return silent && err == nil
}

// control uses the host's end of the terminal.
func (t *Terminal) control(do func(fd int) error) error {
	conn, err := t.host.SyscallConn()
	if err != nil {
		return err
	}
	if outer := conn.Control(func(fd uintptr) { err = do(int(fd)) }); outer != nil {
		return outer
	}
	return err
}

// onTerminal makes the process the leader of a session with the terminal.
func onTerminal(attr *syscall.SysProcAttr) {
	attr.Setsid, attr.Setctty, attr.Ctty = true, true, 0
}
