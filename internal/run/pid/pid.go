package pid

import (
	"errors"
	"syscall"
)

// Alive reports whether a process of that number exists.
func Alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return pid > 0 && (err == nil || errors.Is(err, syscall.EPERM))
}
