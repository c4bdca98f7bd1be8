//go:build !linux

package proc

import (
	"errors"
	"syscall"
)

// OpenTerminal is not there on this system.
func OpenTerminal(Size) (*Terminal, error) {
	return nil, noTerminal(errors.New("it takes Linux"))
}

// Resize cannot be called: there is no terminal.
func (t *Terminal) Resize(Size) error { return syscall.ENOTTY }

// Signal cannot be called: there is no terminal.
func (t *Terminal) Signal(syscall.Signal) error { return syscall.ENOTTY }

// Silent cannot be called: there is no terminal.
func (t *Terminal) Silent() bool { return false }

func onTerminal(*syscall.SysProcAttr) {}
