//go:build unix

package project

import (
	"errors"
	"syscall"
)

// running reports whether there is a process of that id.
func running(pid int) bool {
	err := syscall.Kill(pid, 0)
	return pid > 0 && (err == nil || errors.Is(err, syscall.EPERM))
}
