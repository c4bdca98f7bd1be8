//go:build !linux

package proc

import (
	"errors"
	"syscall"
)

// OpenTerminal is not supported on this system.
func OpenTerminal(Size) (*Terminal, error) {
	return nil, noTerminal(errors.New("it takes Linux"))
}

// Resize is unreachable without a terminal.
func (t *Terminal) Resize(Size) error { return syscall.ENOTTY }

// Signal is unreachable without a terminal.
func (t *Terminal) Signal(syscall.Signal) error { return syscall.ENOTTY }

// Silent is unreachable without a terminal.
func (t *Terminal) Silent() bool { return false }

func onTerminal(*syscall.SysProcAttr) {}
