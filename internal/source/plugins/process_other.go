//go:build !linux

package plugins

import "syscall"

// tieToHost does nothing here; the lifeline ends when the host dies.
func tieToHost(*syscall.SysProcAttr) {}

// awaitExit leaves the waiting to the caller.
func (g *processGroup) awaitExit() bool { return false }
